// A program that has one problem at a time, for the specs of findings. The first argument names
// the problem, the second says for how many milliseconds; "healthy" has none. Each part is named
// after what it would be in a shop, so that redaction has something to hide.
//
//   starve     every thread of the pool is held by a call that blocks
//   blocking   threads of the pool wait for async work
//   induced    collections that the program asks for
//   large      large arrays, made and dropped
//   pressure   many small objects that live for a while
//   locks      four threads want one lock all the time
//   throw      exceptions as a way of control
//   jit        start-up that compiles several hundred methods
//   hot        one method that takes most of the time of one thread
//   healthy    waits, and now and then a little of everything
using System;
using System.Collections.Generic;
using System.Linq.Expressions;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Shop;

class OrderNotFoundException(string message) : Exception(message);

class Order(int number)
{
    public readonly int Number = number;
    public readonly List<string> Lines = ["first", "second"];
    public Order? Next;
}

static class Inventory
{
    public static async Task<int> CountAsync(int delay)
    {
        await Task.Delay(delay);
        return delay;
    }

    public static int Count(int delay) => CountAsync(delay).Result;
}

static class Prices
{
    static readonly object Gate = new();
    static double total;

    public static double Compute(int n)
    {
        double sum = 0;
        for (int i = 1; i < n; i++) sum += Math.Sqrt(i) / (i + 1.0);
        return sum;
    }

    public static void Update(int n)
    {
        lock (Gate) total += Compute(n);
    }
}

static class Program
{
    static Order? last;
    static byte[]? picture;

    static bool Before(long end) => Environment.TickCount64 < end;

    static void Starve(long end)
    {
        var work = new List<Task>();
        for (int i = 0; i < 12; i++)
            work.Add(Task.Run(() => { while (Before(end)) Thread.Sleep(100); }));
        Task.WaitAll(work.ToArray());
    }

    static void Blocking(long end)
    {
        while (Before(end))
        {
            var work = new Task[4];
            for (int i = 0; i < work.Length; i++) work[i] = Task.Run(() => Inventory.Count(50));
            Task.WaitAll(work);
        }
    }

    static void TrimCache() => GC.Collect();

    static void Induced(long end)
    {
        while (Before(end))
        {
            for (int i = 0; i < 200; i++) last = new Order(i);
            TrimCache();
            Thread.Sleep(20);
        }
    }

    static void LoadPicture(int size) => picture = new byte[size];

    static void Large(long end)
    {
        while (Before(end))
        {
            for (int i = 0; i < 20; i++) LoadPicture(400_000 + i);
            Thread.Sleep(2);
        }
    }

    static void Pressure(long end)
    {
        int n = 0;
        var kept = new Order[200_000];
        while (Before(end))
        {
            var order = new Order(n) { Next = kept[(n * 7919L + 13) % kept.Length] };
            order.Next = null;
            kept[n++ % kept.Length] = order;
        }
    }

    static void Locks(long end)
    {
        var threads = new Thread[4];
        for (int i = 0; i < threads.Length; i++)
        {
            threads[i] = new Thread(() => { while (Before(end)) Prices.Update(200_000); });
            threads[i].Start();
        }
        foreach (Thread thread in threads) thread.Join();
    }

    static Order Find(int number) =>
        number % 7 == 0 ? new Order(number)
            : throw new OrderNotFoundException("no order " + number);

    static void Throw(long end)
    {
        for (int i = 0; Before(end); i++)
        {
            try { last = Find(i); }
            catch (OrderNotFoundException) { }
            if (i % 20 == 0) Thread.Sleep(1);
        }
    }

    static void Jit(int methods)
    {
        for (int i = 0; i < methods; i++)
        {
            ParameterExpression x = Expression.Parameter(typeof(double));
            Expression body = x;
            for (int k = 0; k < 60; k++)
                body = Expression.Add(Expression.Multiply(body, x), Expression.Constant(k + 0.5));
            Expression.Lambda<Func<double, double>>(body, x).Compile()(i);
        }
    }

    static void Hot(long end)
    {
        while (Before(end)) Prices.Compute(100_000);
    }

    static string Render(int n)
    {
        var page = new StringBuilder();
        for (int i = 0; i < n; i++) page.Append("order ").Append(i).Append('\n');
        return page.ToString();
    }

    static async Task Healthy(long end)
    {
        for (int i = 0; Before(end); i++)
        {
            await Inventory.CountAsync(15);
            if (Render(200).Length > 0) Prices.Update(2_000);
            if (i % 50 != 49) continue;
            try { last = Find(i * 7 + 1); }
            catch (OrderNotFoundException) { }
        }
    }

    static async Task Main(string[] args)
    {
        int length = int.Parse(args[1]);
        long end = Environment.TickCount64 + length;
        switch (args[0])
        {
            case "starve": Starve(end); break;
            case "blocking": Blocking(end); break;
            case "induced": Induced(end); break;
            case "large": Large(end); break;
            case "pressure": Pressure(end); break;
            case "locks": Locks(end); break;
            case "throw": Throw(end); break;
            case "jit": Jit(length); break;
            case "hot": Hot(end); break;
            default: await Healthy(end); break;
        }
    }
}
