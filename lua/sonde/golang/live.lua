--- Profiles and dumps of running Go processes, as they come: bytes and a name, for
-- whoever opens inputs.
-- @module sonde.golang.live
local gops <const> = require "sonde.golang.gops"
local http <const> = require "sonde.base.http"
local options <const> = require "sonde.base.options"
local pprof <const> = require "sonde.golang.pprof"
local sources <const> = require "sonde.golang.sources"
local url <const> = require "sonde.base.url"
local views <const> = require "sonde.golang.views"

local live = {}

local SECOND <const> = 1000000000
local CPU <const> = 10 * SECOND

--- Options of the functions here.
live.options = options.join(require "sonde.golang.take", require "sonde.base.connection", {
  { name = "view", type = "string", help = "see `sonde.golang.views`; cpu" },
  { name = "dump", type = "boolean", help = "the goroutines as text, instead of a profile" },
  { name = "debug", type = "integer", default = 2, min = 0, max = 2,
    help = "of the text: 1 is by stack, with labels" },
  { name = "source", type = "string", choices = { "pprof", "gops" },
    help = "where a process is asked (default: the first that answers)" },
  { name = "gops", type = "string", argname = "HOST:PORT",
    help = "the address of its gops agent, when the port file does not say it" },
  { name = "timeout", type = "duration", min = 1, help = "how long the answer may take" },
  { name = "told", type = "function",
    help = "called with a message before something that takes its time" },
  { name = "max_bytes", type = "size", default = 256 << 20, default_text = "256MiB", min = 1,
    help = "most of an answer" },
})

local function seconds_of(ns)
  return math.max(1, (ns + SECOND - 1) // SECOND)
end

--- Are the options at odds with each other?
-- @tparam table opts see `live.options`
-- @treturn ?string what is wrong, in the words of the command; nil when nothing is
function live.conflict(opts)
  if opts.dump then return nil end
  local view <const> = views.get(opts.view)
  if view.timed and opts.delta then
    return ("--delta: %s is of a time anyhow: --duration says how long"):format(view.name)
  end
  if not view.timed and opts.duration then
    return ("--duration: a %s profile is of an instant; --delta is for what is added to it")
      :format(view.name)
  end
  if opts.gc and view.profile ~= "heap" then return "--gc: only for a heap profile" end
end

-- Wrong use, of the function that our caller called.
local function need_accord(opts)
  local wrong <const> = live.conflict(opts)
  if wrong then error("bad options: " .. wrong, 4) end
end

local function query_of(view, opts)
  if view.timed then return "seconds=" .. seconds_of(opts.duration or CPU) end
  if opts.delta then return "seconds=" .. seconds_of(opts.delta) end
  return opts.gc and "gc=1" or nil
end

local function passed_on(opts)
  return { timeout = opts.timeout, max_bytes = opts.max_bytes, header = opts.header, ca = opts.ca,
    insecure = opts.insecure }
end

local function taken(name, view, bytes, message, code, hint)
  if bytes == nil then return nil, message, code, hint end
  return { bytes = bytes, name = name, sample_type = view and view.sample_type,
    is_profile = view ~= nil }, message, code
end

local function tell(opts, form, ...)
  if opts.told then opts.told(form:format(...)) end
end

local function of_server(address, view, opts)
  local query <const> = query_of(view, opts)
  local name <const> = url.shown(pprof.endpoint(address).base) .. view.profile
  if view.timed then
    tell(opts, "waiting for %s: %s (--duration)", name, query)
  elseif opts.delta then
    tell(opts, "waiting for what is added to %s: %s (--delta)", name, query)
  end
  return taken(name .. (query and "?" .. query or ""), view,
    pprof.fetch(address, view.profile, query, passed_on(opts)))
end

local function dump_of_server(address, opts)
  local query <const> = "debug=" .. opts.debug
  local result, message, code, hint = taken(url.shown(pprof.endpoint(address).base)
    .. "goroutine?" .. query, nil, pprof.fetch(address, "goroutine", query, passed_on(opts)))
  if result then result.source, result.address, result.is_server = "pprof", address, true end
  return result, message, code, hint
end

-- Any file that a server has.
local function plain(address, opts)
  local given <const> = passed_on(opts)
  given.url = address
  local answer, message, code, hint = http.request(given)
  if answer == nil then return nil, message, code, hint end
  local refusal, why = http.refusal(answer)
  if refusal then return nil, refusal, why end
  return taken(url.shown(address), nil, answer.body, message, code)
end

local function from_address(address, opts)
  local endpoint <const> = pprof.endpoint(address)
  if endpoint == nil then return plain(address, opts) end
  if endpoint.profile == "profile" and opts.duration and endpoint.query == nil then
    return of_server(endpoint.base, views.get "cpu", opts)
  end
  if endpoint.profile then
    if endpoint.profile == "profile" then tell(opts, "waiting for %s", url.shown(address)) end
    return taken(url.shown(address), nil,
      pprof.fetch(endpoint.base, endpoint.profile, endpoint.query, passed_on(opts)))
  end
  if opts.dump then return dump_of_server(endpoint.base, opts) end
  need_accord(opts)
  return of_server(endpoint.base, views.get(opts.view), opts)
end

--- What an address gives: a server of net/http/pprof the profile that the options
-- choose, or the goroutines; the address of one profile that; any other what is
-- there.
-- @tparam string address a URL
-- @tparam ?table given see `live.options`
-- @treturn ?table `bytes name`; `sample_type` when the view is one of several;
--   `is_profile` when the view chose the profile; of a dump `address` and `is_server`
-- @treturn ?string message; beside a table it says that the bytes are incomplete
-- @treturn ?string code
-- @treturn ?string hint
function live.of_url(address, given)
  return from_address(address, options.check(live.options, given, "live.of_url"))
end

local function of_agent(pid, address, view, opts)
  local signal <const> = opts.dump and "stack" or view.gops
  if signal == nil then
    return nil, ("a gops agent has no %s profile (cpu and heap)"):format(view.name), "unavailable"
  end
  if opts.delta or opts.gc then
    return nil, "a gops agent gives no profile of a delta or after a collection", "unavailable"
  end
  if signal == "cpu" then
    tell(opts, "taking a CPU profile of process %d by its gops agent, which takes 30 s", pid)
  end
  return taken(("gops of %d: %s"):format(pid, signal), not opts.dump and view or nil,
    gops.ask(address, signal, { timeout = opts.timeout, max_bytes = opts.max_bytes }))
end

-- The source to ask: `pprof` before `gops`, or the one that was named.
local function choose(pid, opts, view)
  if opts.gops then return "gops", opts.gops end
  local reasons, hint, code = {}, nil, nil
  for _, name in ipairs { "pprof", "gops" } do
    local can <const> = name == "pprof" or opts.dump and opts.debug == 2 or view.gops ~= nil
    if can and (opts.source == nil or opts.source == name) then
      local address, why, kind, help = sources[name](pid)
      if address then return name, address end
      reasons[#reasons + 1], hint, code = why, hint or help, code or kind
    end
  end
  if #reasons == 0 then
    return nil, ("a gops agent has no %s profile (cpu and heap)"):format(view.name), "unavailable"
  end
  return nil, table.concat(reasons, "; "), code, hint
end

--- What a process gives, as `live.of_url` of its server, or by its gops agent,
-- whose CPU profile always takes 30 s.
-- @tparam integer pid
-- @tparam ?table given see `live.options`
-- @treturn ?table `bytes name sample_type is_profile source address`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function live.of_pid(pid, given)
  local opts <const> = options.check(live.options, given, "live.of_pid")
  local view <const> = views.get(opts.view)
  local source, address, code, hint = choose(pid, opts, view)
  if source == nil then return nil, address, code, hint end
  local result, message
  if source == "gops" then
    result, message, code, hint = of_agent(pid, address, view, opts)
  else
    result, message, code, hint = from_address(address, opts)
  end
  if result then result.source, result.address = source, address end
  return result, message, code, hint
end

return live
