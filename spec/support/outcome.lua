-- The output of a run: a mark per test, then what was skipped and why, then what
-- failed, then one line that other programs can read. For spec/run.sh, which adds
-- up many runs, the numbers passed and failed go to the file $SONDE_TALLY instead.
local base <const> = require "busted.outputHandlers.base"

local marks <const> = { success = "+", pending = ".", failure = "-", error = "*" }

local function place(item)
  local trace <const> = item.trace or item.element and item.element.trace
  if trace == nil or trace.short_src == nil then return "" end
  return ("%s:%s: "):format(trace.short_src, trace.currentline or 0)
end

local function text(message)
  if type(message) == "table" then return require("pl.pretty").write(message) end
  return tostring(message)
end

local function report(title, items)
  for _, item in ipairs(items) do
    io.write(("\n%s %s%s\n"):format(title, place(item), item.name))
    if item.message ~= nil then io.write(text(item.message), "\n") end
    if title == "ERROR" and item.trace and item.trace.traceback then
      io.write(item.trace.traceback, "\n")
    end
  end
end

-- Skipped tests are grouped: one reason often stands for many.
local function report_skipped(pendings)
  local count, order = {}, {}
  for _, item in ipairs(pendings) do
    local reason = item.message and text(item.message):gsub("^[^:]+:%d+: ", "") or "no reason given"
    if not count[reason] then order[#order + 1] = reason end
    count[reason] = (count[reason] or 0) + 1
  end
  for _, reason in ipairs(order) do
    io.write(("skipped %d: %s\n"):format(count[reason], reason))
  end
end

local function tell(path, ...)
  local file <const> = assert(io.open(path, "w"))
  file:write(string.format(...))
  assert(file:close())
end

return function(options)
  local busted <const> = require "busted"
  local handler <const> = base()

  local function mark(status)
    io.write(marks[status] or "*")
    io.flush()
  end

  local function test_end(_, _, status)
    if not options.deferPrint then mark(status) end
    return nil, true
  end

  local function outside_a_test()
    mark("error")
    return nil, true
  end

  local function suite_end()
    io.write((" %.1f s\n"):format(handler.getDuration()))
    report_skipped(handler.pendings)
    report("FAILED", handler.failures)
    report("ERROR", handler.errors)
    local failed <const> = handler.failuresCount + handler.errorsCount
    local path <const> = os.getenv "SONDE_TALLY"
    if path then
      tell(path, "%d %d\n", handler.successesCount, failed)
    else
      io.write(("%d passed, %d failed\n"):format(handler.successesCount, failed))
    end
    io.flush()
    return nil, true
  end

  -- The runner's own exit status is the number of failures modulo 256, and a
  -- run without tests is no success.
  local function leave()
    local failed <const> = handler.failuresCount + handler.errorsCount
    if failed > 0 or handler.successesCount == 0 then os.exit(1, true) end
    return nil, true
  end

  busted.subscribe({ "test", "end" }, test_end, { predicate = handler.cancelOnPending })
  busted.subscribe({ "suite", "end" }, suite_end)
  busted.subscribe({ "exit" }, leave)
  for _, kind in ipairs { "error", "failure" } do
    busted.subscribe({ kind, "file" }, outside_a_test)
    busted.subscribe({ kind, "describe" }, outside_a_test)
  end
  return handler
end
