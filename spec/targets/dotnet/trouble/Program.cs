// A service that gets into trouble when it is told to, by lines on standard input:
//   throw N      throws and catches N TimeoutExceptions (Program.ThrowOne), 5 ms apart
//   starve N     queues N work items that block for 200 ms each (Program.BlockOne)
//   leak N       keeps N more megabytes in arrays (Program.KeepOne)
//   request MS   a request for /api/orders that takes MS milliseconds
//   hang         two requests that wait for each other for ever (Program.First, Second)
//   crash        an exception that nobody catches
// Its requests are told of as ASP.NET Core does: events and counters of a source of the
// same name. Prints "ready", answers each line with "did LINE", ends at the end of input.
using System;
using System.Collections.Generic;
using System.Diagnostics.Tracing;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Targets.Trouble;

[EventSource(Name = "Microsoft.AspNetCore.Hosting")]
sealed class Hosting : EventSource
{
    public static readonly Hosting Log = new();
    static int current;
    readonly PollingCounter counter;

    Hosting() => counter = new PollingCounter("current-requests", this, () => current);

    [Event(3, Level = EventLevel.Informational)]
    public void RequestStart(string method, string path)
    {
        Interlocked.Increment(ref current);
        WriteEvent(3, method, path);
    }

    [Event(4, Level = EventLevel.Informational)]
    public void RequestStop()
    {
        Interlocked.Decrement(ref current);
        WriteEvent(4);
    }
}

static class Program
{
    static readonly List<byte[]> Kept = new();
    static readonly object A = new(), B = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ThrowOne(int i)
    {
        try { throw new TimeoutException("late " + i); }
        catch (TimeoutException) { }
    }

    static void Throw(int n)
    {
        for (int i = 0; i < n; i++)
        {
            ThrowOne(i);
            Thread.Sleep(5);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void BlockOne(object? _) => Thread.Sleep(200);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void KeepOne()
    {
        for (int i = 0; i < 16; i++) Kept.Add(new byte[65536]);
    }

    static void Request(int ms)
    {
        Hosting.Log.RequestStart("GET", "/api/orders");
        Thread.Sleep(ms);
        Hosting.Log.RequestStop();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void First() { lock (A) { Thread.Sleep(200); lock (B) { } } }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Second() { lock (B) { Thread.Sleep(200); lock (A) { } } }

    static void Hang(Action work)
    {
        new Thread(() => { Hosting.Log.RequestStart("GET", "/api/hang"); work(); Hosting.Log.RequestStop(); })
            { IsBackground = true }.Start();
    }

    static void Act(string word, int n)
    {
        switch (word)
        {
            case "throw": Throw(n); break;
            case "starve": for (int i = 0; i < n; i++) ThreadPool.QueueUserWorkItem(BlockOne); break;
            case "leak": for (int i = 0; i < n; i++) KeepOne(); break;
            case "request": Request(n); break;
            case "hang": Hang(First); Hang(Second); break;
            case "crash": throw new ApplicationException("crash asked for");
        }
    }

    static void Main()
    {
        GC.KeepAlive(Hosting.Log);
        Console.WriteLine("ready");
        for (string? line; (line = Console.ReadLine()) != null; Console.WriteLine("did " + line))
        {
            string[] words = line.Split(' ');
            Act(words[0], words.Length > 1 ? int.Parse(words[1]) : 0);
        }
    }
}
