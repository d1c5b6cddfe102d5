// Threads of different habits, each of which knows what processor time its methods took, by
// CLOCK_THREAD_CPUTIME_ID around every call:
//   "quarter"  Quarter: 25 ms of processor time in Spin, then 75 ms of sleep, again and again
//   "steady"   Steady: burns all the time
//   "waiter"   Waiter: sleeps 5 ms, then does almost nothing
//   "native"   Sorter (Array.Sort), Hasher (SHA-256): long stretches inside the runtime's own code
//   "file"     Writer: writes 64 KiB and sleeps 10 ms
// usage: target-mixed [seconds=4] [steady=1]; prints "ready", waits for a line, runs, prints the truth:
// {"wall_ms":…,"cpu_ms":{"Quarter":…,…}}
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using System.Threading;

namespace Targets.Mixed;

struct Timespec { public long Seconds, Nanoseconds; }

static class Program
{
    [DllImport("libc", EntryPoint = "clock_gettime")]
    static extern int ClockGettime(int clock, out Timespec time);

    const int ThreadCpuTime = 3;

    static readonly Dictionary<string, double> Truth = new();
    static volatile bool stop;
    static double sink;

    static long Cpu()
    {
        ClockGettime(ThreadCpuTime, out Timespec t);
        return t.Seconds * 1_000_000_000 + t.Nanoseconds;
    }

    static void Add(string name, long since)
    {
        long took = Cpu() - since;
        lock (Truth) Truth[name] = Truth.GetValueOrDefault(name) + took / 1e6;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static double Burn(int n)
    {
        double x = 1;
        for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5 / x;
        return x;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Quarter()
    {
        long start = Cpu();
        while (Cpu() - start < 25_000_000) sink += Burn(20_000);
        Add(nameof(Quarter), start);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Steady()
    {
        long start = Cpu();
        for (int i = 0; i < 50; i++) sink += Burn(20_000);
        Add(nameof(Steady), start);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Waiter()
    {
        long start = Cpu();
        Thread.Sleep(5);
        Add(nameof(Waiter), start);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Sorter(int[] numbers, int[] copy)
    {
        long start = Cpu();
        numbers.CopyTo(copy, 0);
        Array.Sort(copy);
        Add(nameof(Sorter), start);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Hasher(SHA256 hash, byte[] data)
    {
        long start = Cpu();
        sink += hash.ComputeHash(data)[0];
        Add(nameof(Hasher), start);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Writer(FileStream file, byte[] data)
    {
        long start = Cpu();
        file.Position = 0;
        file.Write(data, 0, data.Length);
        file.Flush();
        Add(nameof(Writer), start);
    }

    static Thread Start(string name, Action body)
    {
        var t = new Thread(() => { while (!stop) body(); }) { Name = name };
        t.Start();
        return t;
    }

    static int Main(string[] a)
    {
        double seconds = a.Length > 0 ? double.Parse(a[0]) : 4;
        bool steady = a.Length < 2 || a[1] != "0";
        var random = new Random(1);
        int[] numbers = Enumerable.Range(0, 300_000).Select(_ => random.Next()).ToArray();
        int[] copy = new int[numbers.Length];
        byte[] data = new byte[8 << 20], small = new byte[64 << 10];
        string path = Path.GetTempFileName();
        Console.WriteLine("ready");
        Console.ReadLine();
        var clock = Stopwatch.StartNew();
        var threads = new List<Thread>();
        using (var hash = SHA256.Create())
        using (var file = new FileStream(path, FileMode.Create))
        {
            threads.Add(Start("quarter", () => { Quarter(); Thread.Sleep(75); }));
            if (steady) threads.Add(Start("steady", Steady));
            threads.Add(Start("waiter", Waiter));
            threads.Add(Start("native", () => { Sorter(numbers, copy); Hasher(hash, data); }));
            threads.Add(Start("file", () => { Writer(file, small); Thread.Sleep(10); }));
            Thread.Sleep((int)(seconds * 1000));
            stop = true;
            foreach (Thread t in threads) t.Join();
        }
        double wall = clock.Elapsed.TotalMilliseconds;
        File.Delete(path);
        string all = string.Join(",", Truth.Select(p => FormattableString.Invariant($"\"{p.Key}\":{p.Value:F1}")));
        Console.WriteLine(FormattableString.Invariant($"{{\"wall_ms\":{wall:F0},\"cpu_ms\":{{{all}}}}}"));
        Console.ReadLine();
        return 0;
    }
}
