local names <const> = require "sonde.report.names"

describe("names of frames", function()
  it("have a short form for where there is little room", function()
    for name, short in pairs {
      ["System.Private.CoreLib!System.Threading.Thread.StartCallback()"] = "Thread.StartCallback",
      ["System.Threading.Tasks.Task<System.Double>.TrySetResult(double)"] = "Task.TrySetResult",
      ["A.B.Type<C.D<E.F>>.Run(int, string)"] = "Type.Run",
      ["M!N.Builder`1[System.__Canon].Start(value class !!0&)"] = "Builder`1.Start",
      ["Demo.Program.<Main>$(string[])"] = "Program.<Main>$",
      ["System.Object..ctor()"] = "Object..ctor",
      ["runtime/pprof.Do"] = "pprof.Do",
      ["github.com/a/b.(*T).Run"] = "(*T).Run",
      ["ns::inner::f"] = "inner::f",
      ["main"] = "main", ["[kernel]"] = "[kernel]", ["(anonymous)"] = "(anonymous)",
      ["?!0x7f12"] = "0x7f12", [""] = "", ["日本語"] = "日本語",
    } do
      assert.equal(short, names.short(name), name)
    end
  end)

  it("fall back to the module, then to what is known", function()
    local frames <const> = {
      n = 3, name = { "f", "", "" }, module = { "m", "/usr/lib/libc.so.6", "" },
      file = { "a.c", "", "" },
    }
    assert.equal("f", names.of(frames, 1))
    assert.equal("[libc.so.6]", names.of(frames, 2))
    assert.equal("<unknown>", names.of(frames, 3))
    assert.equal("a.c", names.place(frames, 1))
    assert.equal("/usr/lib/libc.so.6", names.place(frames, 2))
  end)
end)
