--- What a process's methods are called: for views of it while it runs, whose
-- own sessions end too late to be told.
--
--    local known = assert(require("sonde.dotnet.names").of(target))
--    print(known:frame(address).method)
--
-- A session that has nothing but a rundown tells them. It is taken once for
-- each runtime, known by its cookie, and kept while somebody has it or for
-- some time; methods that are compiled later come as events of the loader and
-- the JIT compiler in a session of the asker's own.
-- @module sonde.dotnet.names
local core <const> = require "sonde.c.core"
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"

local names = {}

local SECOND <const> = 1000000000

-- Loads of modules and methods, and precompiled code: what names stacks, half
-- the size of a whole rundown.
local NAMES_ONLY <const> = 0x38

--- Options of `names.of`.
names.options = {
  { name = "timeout", type = "duration", default = 30 * SECOND, default_text = "30s",
    help = "how long the rundown may take" },
  { name = "fresh", type = "boolean", help = "take them now, whatever is known" },
  { name = "max_bytes", type = "size", default = 1 << 30, default_text = "1GiB", min = 1,
    help = "largest rundown that is taken" },
}

local Names <const> = {}
Names.__index = Names
Names.__name = "sonde.names"

-- By cookie. A process that has several targets is still one runtime.
local cache <const> = {}
local MOST <const> = 16   -- runtimes; the one that was asked for longest ago goes
local asked = 0           -- how often anybody asked

local function forget_oldest()
  local oldest, n = nil, 0
  for cookie, known in pairs(cache) do
    n = n + 1
    if oldest == nil or known.asked < cache[oldest].asked then oldest = cookie end
  end
  if n > MOST then cache[oldest] = nil end
end

local function take(target, opts, deadline)
  local pieces, began = {}, loop.now()
  local session, message, code, hint, hresult = target:trace {
    providers = { { name = "Microsoft-DotNETCore-EventPipe", level = 1 } },
    rundown_keyword = NAMES_ONLY, groups = {}, max_bytes = opts.max_bytes,
    timeout = math.max(0, deadline - loop.now()),
    on_bytes = function(bytes) pieces[#pieces + 1] = bytes end,
  }
  if session == nil then return nil, message, code, hint, hresult end
  local done, why, reason, help = session:stop { timeout = math.max(0, deadline - loop.now()) }
  if not done then return nil, why, reason, help end
  return setmetatable({ trace = session.decoder, bytes = table.concat(pieces),
    counts = session.decoder:counts(), cost_ns = loop.now() - began, taken_at = loop.now() }, Names)
end

--- The names of a process's methods, as of the first time that somebody asked.
-- @tparam Target target
-- @tparam ?table opts `timeout fresh max_bytes`
-- @treturn ?Names `cookie`, `trace` (finished userdata of `core.trace`: `methods
--   modules assemblies frame`), `bytes` (the rundown as a NetTrace stream),
--   `counts` (of the trace), `cost_ns`, `taken_at` (of `loop.now`)
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
-- @treturn ?integer hresult when the code is `runtime_error`
function names.of(target, opts)
  opts = options.check(names.options, opts, "names.of")
  local deadline <const> = loop.after(opts.timeout)
  local info, message, code, hint = target:info { timeout = opts.timeout }
  if info == nil then return nil, message, code, hint end
  -- .NET Core 3.1 tells no cookie; there pid and start time stand for it.
  local key <const> = info.cookie
    or ("%s/%s/%s"):format(target.endpoint.path, target.pid, target.start_time)
  asked = asked + 1
  local known = not opts.fresh and cache[key] or nil
  if known == nil then
    local hresult
    known, message, code, hint, hresult = take(target, opts, deadline)
    if known == nil then return nil, message, code, hint, hresult end
    known.cookie = info.cookie
    cache[key] = known
  end
  known.asked = asked
  forget_oldest()
  return known
end

--- Names out of several traces of one process, the later over the earlier.
-- @tparam {userdata,...} traces of `core.trace`
-- @treturn Names `trace`, `counts`, `taken_at`
function names.joined(traces)
  local all <const> = core.trace { groups = {} }
  for _, trace in ipairs(traces) do all:learn(trace) end
  all:finish()
  return setmetatable({ trace = all, counts = all:counts(), taken_at = loop.now() }, Names)
end

--- What is at an address.
-- @tparam integer address
-- @treturn ?table `ip method type assembly tier`; nil when nothing is known there.
--   The same table each time: not to be changed
function Names:frame(address)
  self.frames = self.frames or {}
  local frame = self.frames[address]
  if frame == nil then
    frame = self.trace:frame(address) or false
    self.frames[address] = frame
  end
  return frame or nil
end

function Names:__tostring()
  return ("names of %d methods"):format(self.counts.methods)
end

return names
