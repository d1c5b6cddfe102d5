// A small server that mostly waits. On start it prints "ready <pid> <port>".
// Threads: "sleeper" in Thread.Sleep, "blocked" in Monitor.Enter on a lock that "holder" keeps while in
// WaitHandle.WaitOne, a TCP accept loop and a channel consumer in async waits, a timer every 100 ms.
// Commands on standard input, one a line, each answered with one line:
//   burn MS    burns CPU on the main thread (Program.Burn)   throw N   throws and catches N TimeoutExceptions
//   gc         one blocking collection                       send N    puts N items into the channel
//   crash      ends by an unhandled exception                quit      ends with 0
// End of input counts as quit, unless the argument "stay" was given.
using System;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Channels;
using System.Threading.Tasks;

namespace Targets.Idle;

static class Program
{
    static readonly object Gate = new();
    static readonly ManualResetEvent Never = new(false);
    static readonly Channel<int> Work = Channel.CreateUnbounded<int>();
    static double sink;
    static int ticks, consumed;

    static void Sleeper() { while (true) Thread.Sleep(60_000); }

    static void Holder(object? started)
    {
        lock (Gate)
        {
            ((ManualResetEventSlim)started!).Set();
            Never.WaitOne();
        }
    }

    static void Blocked() { lock (Gate) sink++; }

    static async Task Accept(TcpListener l)
    {
        while (true)
        {
            using TcpClient c = await l.AcceptTcpClientAsync();
            await Answer(c.GetStream());
        }
    }

    static async Task Answer(NetworkStream s)
    {
        var b = new byte[256];
        int n;
        while ((n = await s.ReadAsync(b)) > 0) await s.WriteAsync(b.AsMemory(0, n));
    }

    static async Task Consume()
    {
        await foreach (int item in Work.Reader.ReadAllAsync())
        {
            await Task.Delay(1);
            consumed += item >= 0 ? 1 : 0;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static double Burn(long ms)
    {
        double x = 1;
        long end = Stopwatch.GetTimestamp() + ms * Stopwatch.Frequency / 1000;
        while (Stopwatch.GetTimestamp() < end)
            for (int i = 0; i < 1000; i++) x = x * 1.0000001 + 0.5 / x;
        return x;
    }

    static Thread Start(string name, ThreadStart f)
    {
        var t = new Thread(f) { Name = name, IsBackground = true };
        t.Start();
        return t;
    }

    static int Main(string[] a)
    {
        bool stay = a.Length > 0 && a[0] == "stay";
        var l = new TcpListener(IPAddress.Loopback, 0);
        l.Start();
        Start("sleeper", Sleeper);
        using (var started = new ManualResetEventSlim())
        {
            Start("holder", () => Holder(started));
            started.Wait();
        }
        Start("blocked", Blocked);
        _ = Accept(l);
        _ = Consume();
        using var timer = new Timer(_ => Interlocked.Increment(ref ticks), null, 100, 100);
        Console.WriteLine($"ready {Process.GetCurrentProcess().Id} {((IPEndPoint)l.LocalEndpoint).Port}");
        string? line;
        while ((line = Console.ReadLine()) != null)
        {
            string[] w = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            long n = w.Length > 1 && long.TryParse(w[1], out long v) ? v : 1;
            switch (w.Length > 0 ? w[0] : "")
            {
                case "burn": sink += Burn(n); break;
                case "throw": for (long i = 0; i < n; i++) try { throw new TimeoutException("late " + i); } catch (TimeoutException) { } break;
                case "gc": GC.Collect(); break;
                case "send": for (int i = 0; i < n; i++) Work.Writer.TryWrite(i); break;
                case "crash": throw new ApplicationException("crash asked for");
                case "quit": Console.WriteLine("bye"); return 0;
                default: Console.WriteLine("what?"); continue;
            }
            Console.WriteLine($"ok {w[0]} ticks={ticks} consumed={consumed}");
        }
        if (stay) Thread.Sleep(Timeout.Infinite);
        return 0;
    }
}
