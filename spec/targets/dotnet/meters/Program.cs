// A meter "Targets.Meters" with one instrument of each kind, fed every 50 ms.
//   orders    Counter<long> {order}, tags kind=book (2 each time) and kind=film (1 each time)
//   queue     UpDownCounter<int>, up 3 and down 2 each time
//   duration  Histogram<double> ms, values 1 .. 100 each time
//   level     ObservableGauge<double>, 42.5
// Prints "ready", ends at the end of input.
using System;
using System.Collections.Generic;
using System.Diagnostics.Metrics;
using System.Threading;

namespace Targets.Meters;

static class Program
{
    static readonly Meter Own = new("Targets.Meters", "1.0");
    static readonly Counter<long> Orders = Own.CreateCounter<long>("orders", "{order}", "orders taken");
    static readonly UpDownCounter<int> Queue = Own.CreateUpDownCounter<int>("queue");
    static readonly Histogram<double> Duration = Own.CreateHistogram<double>("duration", "ms");

    static void Feed()
    {
        while (true)
        {
            Orders.Add(2, new KeyValuePair<string, object?>("kind", "book"));
            Orders.Add(1, new KeyValuePair<string, object?>("kind", "film"));
            Queue.Add(3);
            Queue.Add(-2);
            for (int i = 1; i <= 100; i++) Duration.Record(i);
            Thread.Sleep(50);
        }
    }

    static void Main()
    {
        Own.CreateObservableGauge("level", () => 42.5);
        new Thread(Feed) { IsBackground = true }.Start();
        Console.WriteLine("ready");
        while (Console.ReadLine() != null) { }
    }
}
