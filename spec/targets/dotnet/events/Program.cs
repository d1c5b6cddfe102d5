// Makes a runtime raise as many of its own kinds of event as one program can: each part
// of Main is for some of them. Runs once and ends, or says "ready" first and waits for a
// line when it is called with "wait". Prints the kinds of work it did as one JSON line.
//   40 finalized objects, 5 kinds of GC handle, 20 dynamic methods, 10 contended locks,
//   30 exceptions through a filter, a finally and a catch block, 200 work items,
//   1 collectible assembly loaded from bytes and unloaded, 4 resolve handlers asked
using System;
using System.IO;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;
using System.Threading;

namespace Targets.Events;

sealed class Finalized
{
    public static int Count;
    public readonly byte[] Data = new byte[200];
    ~Finalized() => Interlocked.Increment(ref Count);
}

static class Program
{
    static readonly object Gate = new();
    static object? keep;
    static int caught, asked, worked;

    [DllImport("libc")] static extern int getppid();
    [DllImport("libc")] static extern int kill(int pid, int signal);
    [DllImport("libc")] static extern IntPtr strchr([MarshalAs(UnmanagedType.LPStr)] string text, int c);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Abandon() { for (int i = 0; i < 40; i++) keep = new Finalized(); }

    static void Handles()
    {
        var data = new byte[100];
        var table = new ConditionalWeakTable<object, object>();
        table.Add(data, new object());
        var pinned = GCHandle.Alloc(data, GCHandleType.Pinned);
        GCHandle[] others = { GCHandle.Alloc(data), GCHandle.Alloc(data, GCHandleType.Weak),
            GCHandle.Alloc(data, GCHandleType.WeakTrackResurrection) };
        for (int i = 0; i < 3000; i++) keep = new byte[1000];
        GC.Collect(0);
        GC.Collect(2, GCCollectionMode.Forced, true, true);
        pinned.Free();
        foreach (GCHandle handle in others) handle.Free();
        GC.KeepAlive(table);
    }

    static void Collections()
    {
        var large = new byte[40][];
        for (int i = 0; i < large.Length; i++) large[i] = new byte[100_000];
        for (int i = 0; i < large.Length; i += 2) large[i] = Array.Empty<byte>();
        GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
        GC.Collect();
        GC.AddMemoryPressure(1 << 20);
        GC.RemoveMemoryPressure(1 << 20);
        for (int i = 0; i < 3; i++) GC.Collect(2, GCCollectionMode.Forced, false);
        for (int i = 0; i < 20000; i++) keep = new byte[1000];
        GC.WaitForPendingFinalizers();
        GC.KeepAlive(large);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw(int n)
    {
        try
        {
            try { throw new InvalidOperationException("no " + n); }
            finally { worked++; }
        }
        catch (InvalidOperationException e) when (e.Message.Length > 0) { caught++; }
    }

    // Calls itself by an explicit tail call, which no C# compiler writes.
    static void DynamicMethods()
    {
        for (int i = 0; i < 20; i++)
        {
            var method = new DynamicMethod("Dynamic" + i, typeof(int), new[] { typeof(int) }, typeof(Program).Module);
            ILGenerator il = method.GetILGenerator();
            Label more = il.DefineLabel();
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Brtrue, more);
            il.Emit(OpCodes.Ldc_I4, i);
            il.Emit(OpCodes.Ret);
            il.MarkLabel(more);
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ldc_I4_1);
            il.Emit(OpCodes.Sub);
            il.Emit(OpCodes.Tailcall);
            il.Emit(OpCodes.Call, method);
            il.Emit(OpCodes.Ret);
            ((Func<int, int>)method.CreateDelegate(typeof(Func<int, int>)))(100);
        }
    }

    static void Resolve(string name, Assembly? answer)
    {
        ResolveEventHandler old = (_, e) => { asked++; return answer; };
        Func<AssemblyLoadContext, AssemblyName, Assembly?> own = (_, e) => { asked++; return null; };
        AppDomain.CurrentDomain.AssemblyResolve += old;
        AssemblyLoadContext.Default.Resolving += own;
        try { Assembly.Load(name); } catch (FileNotFoundException) { }
        AppDomain.CurrentDomain.AssemblyResolve -= old;
        AssemblyLoadContext.Default.Resolving -= own;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Collectible()
    {
        string path = typeof(Program).Assembly.Location;
        var context = new AssemblyLoadContext("apart", true);
        using var code = new MemoryStream(File.ReadAllBytes(path));
        string symbols = Path.ChangeExtension(path, ".pdb");
        using MemoryStream? lines = File.Exists(symbols) ? new MemoryStream(File.ReadAllBytes(symbols)) : null;
        Assembly again = context.LoadFromStream(code, lines);
        again.GetType("Targets.Events.Program")!.GetMethod("Work")!.Invoke(null, null);
        context.Unload();
    }

    public static void Work() => Interlocked.Increment(ref worked);

    static void Contend()
    {
        using var held = new SemaphoreSlim(0);
        for (int i = 0; i < 10; i++)
        {
            var thread = new Thread(() => { lock (Gate) { held.Release(); Thread.Sleep(5); } });
            thread.Start();
            held.Wait();
            lock (Gate) keep = i;
            thread.Join();
        }
    }

    static void Pool()
    {
        using var all = new CountdownEvent(200);
        using var signal = new AutoResetEvent(false);
        ThreadPool.GetMinThreads(out int workers, out int ports);
        ThreadPool.SetMinThreads(workers + 4, ports);
        ThreadPool.RegisterWaitForSingleObject(signal, (_, _) => Work(), null, 5000, true);
        signal.Set();
        for (int i = 0; i < 200; i++) ThreadPool.QueueUserWorkItem(_ => { Thread.Sleep(1); Work(); all.Signal(); });
        all.Wait();
        using var timer = new Timer(_ => signal.Set(), null, 5, Timeout.Infinite);
        signal.WaitOne(1000);
    }

    // Calls until the second tier of the compiler has taken it up.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Hot(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i % 7; return sum; }

    static int Main(string[] arguments)
    {
        if (arguments.Length > 0 && arguments[0] == "wait")
        {
            Console.WriteLine("ready");
            Console.ReadLine();
        }
        string profile = $"sonde-target-{System.Diagnostics.Process.GetCurrentProcess().Id}.profile";
        ProfileOptimization.SetProfileRoot(Path.GetTempPath());
        ProfileOptimization.StartProfile(profile);
        Abandon();
        Handles();
        Collections();
        for (int i = 0; i < 30; i++) Throw(i);
        DynamicMethods();
        Resolve("Targets.Absent.One", null);
        Resolve("Targets.Absent.Two", typeof(Program).Assembly);
        Collectible();
        kill(getppid(), 0);
        strchr("text", 't');
        Contend();
        Pool();
        for (int i = 0; i < 200; i++) { Hot(1000); Thread.Sleep(1); }
        GC.Collect();
        GC.WaitForPendingFinalizers();
        ProfileOptimization.StartProfile("");   // ends and saves the other
        File.Delete(Path.Combine(Path.GetTempPath(), profile));
        Console.WriteLine($"{{\"finalized\":{Finalized.Count},\"caught\":{caught},\"asked\":{asked},\"worked\":{worked}}}");
        return 0;
    }
}
