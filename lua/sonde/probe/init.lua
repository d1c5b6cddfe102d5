--- Probes: how often functions are called, how long that takes, and from where.
-- Functions of programs, libraries and the kernel by pattern, tracepoints, perf
-- events. The work is done in the kernel by programs made for the request.
--
--    local probe = assert(sonde.probe { binary = "/usr/bin/app", functions = "^handle_",
--      latency = true, stacks = true })
--    … wait …
--    local report = assert(probe:stop())
--    for _, func in ipairs(report:functions()) do print(func.name, func.count, func.mean_ns) end
--
-- @module sonde.probe
local options <const> = require "sonde.base.options"

local probe = {}

--- Options of `sonde.probe` and of the verb.
probe.options = {
  { name = "binary", short = "b", type = "path", many = true, argname = "BINARY",
    help = "the program or library whose functions -f names; may be repeated" },
  { name = "process", short = "p", type = "string", many = true, argname = "PID|NAME",
    help = "only this process, or those of this name; may be repeated. Without -b the functions"
      .. " are its program's" },
  { name = "functions", short = "f", type = "string", argname = "PATTERN",
    help = "functions of the binary: a regular expression for their names" },
  { name = "kernel", short = "k", type = "string", argname = "PATTERN",
    help = "functions of the kernel, likewise" },
  { name = "tracepoint", type = "string", many = true, argname = "CAT:NAME",
    help = "a tracepoint of the kernel; may be repeated" },
  { name = "perf", type = "string", many = true, argname = "EVENT[:FREQ]",
    help = "a perf event: cycles, cpu-clock, page-faults …, rHEX, or TYPE:CONFIG:FREQ;"
      .. " may be repeated" },
  { name = "latency", type = "boolean", help = "how long calls take, by entry and return" },
  { name = "stacks", type = "boolean", help = "from where functions are called" },
  { name = "by", type = "string", many = true, choices = { "process", "thread" },
    argname = "WHAT", help = "also for each process, or each thread" },
  { name = "arg", type = "integer", min = 1, max = 6,
    help = "also for each value of this argument, from 1" },
  { name = "arg_type", type = "string", choices = { "integer", "string" }, default = "integer",
    argname = "TYPE", help = "what that argument is" },
  { name = "yes", type = "boolean", help = "also more than 5,000 functions" },
  { name = "attach", type = "string", choices = { "many", "link", "program" }, default = "many",
    argname = "WAY", help = "the first way to try of attaching probes: a link for many, a link"
      .. " for each, a program for each" },
  { name = "max_stacks", type = "integer", default = 16384, min = 16, max = 1 << 20,
    help = "distinct stacks to have room for" },
  { name = "max_groups", type = "integer", default = 4096, min = 16, max = 1 << 18,
    help = "processes, threads or values to have room for" },
  { name = "max_calls", type = "integer", default = 16384, min = 16, max = 1 << 20,
    help = "calls at the same time to have room for" },
  { name = "max_hits", type = "size", default = 4 << 20, default_text = "4MiB", min = 1 << 16,
    max = 1 << 28, help = "memory for single hits that wait to be fetched" },
}

-- Of the API alone.
local API_OPTIONS <const> = {
  { name = "hits", type = "boolean", help = "keep single hits for `probe:hits`" },
}

--- Starts probes.
-- @tparam table opts see `probe.options`; also `hits`
-- @treturn ?Probe see `sonde.probe.session`
-- @treturn ?string message
-- @treturn ?string code `empty_pattern no_pattern no_binary not_found permission
--   unavailable limit malformed`
-- @treturn ?string hint
function probe.start(opts)
  opts = options.check(options.join(probe.options, API_OPTIONS), opts, "probe")
  return require("sonde.probe.session").start(opts)
end

-- How a record of a hit is laid out, see src/probe/layout.h.
local HIT <const> = "=i8I4I4I4i4i4I4i8i8"

--- Takes a record of a single hit apart.
-- @tparam string bytes
-- @treturn ?table `time pid tid id user kernel is_return latency_ns caller`; the
--   stacks are ids, or negative error numbers
-- @return the number of bytes read; or message
-- @treturn ?string code `not_enough_data`
function probe.decode_hit(bytes)
  if #bytes < string.packsize(HIT) then
    return nil, ("a hit of %d bytes, and it has %d"):format(#bytes, string.packsize(HIT)),
      "not_enough_data"
  end
  local time, pid, tid, id, user, kernel, is_return, latency, caller, stop = HIT:unpack(bytes)
  return { time = time, pid = pid, tid = tid, id = id, user = user, kernel = kernel,
    is_return = is_return ~= 0, latency_ns = is_return ~= 0 and latency or nil,
    caller = caller }, stop - 1
end

return setmetatable(probe, { __call = function(_, opts) return probe.start(opts) end })
