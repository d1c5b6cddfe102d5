--- Servers of net/http/pprof: profiles and goroutine dumps of a Go process that
-- serves them.
--
--    local pprof = require "sonde.golang.pprof"
--    local bytes = assert(pprof.fetch("localhost:6060", "goroutine", "debug=2"))
--
-- @module sonde.golang.pprof
local http <const> = require "sonde.base.http"
local options <const> = require "sonde.base.options"
local url <const> = require "sonde.base.url"

local pprof = {}

local SECOND <const> = 1000000000

-- How long a profile takes when its query does not say; what the server's answer
-- may take beside that. A collection can take long on a busy process.
local CPU_SECONDS <const>, TRACE_SECONDS <const> = 30, 1
local ANSWER <const>, COLLECTION <const> = 15 * SECOND, 90 * SECOND

local PATH <const> = "/debug/pprof/"

--- Options of the functions here.
pprof.options = options.join(require "sonde.base.connection", {
  { name = "timeout", type = "duration", min = 1,
    help = "how long it may take (default: the profile's own time and 15 s)" },
  { name = "max_bytes", type = "size", default = 256 << 20, default_text = "256MiB", min = 1,
    help = "most of an answer" },
})

--- Where a server's profiles are.
-- @tparam string address "host:port", or a URL: of the server, of its `/debug/pprof/`,
--   or of one profile there
-- @treturn ?table `base` (a URL that ends with a slash), `place` (see
--   `sonde.base.url`), `profile` and `query` when the URL names them; nil when it
--   leads elsewhere
-- @treturn ?string message
-- @treturn ?string code `malformed`
function pprof.endpoint(address)
  local text <const> = url.is(address) and address or "http://" .. address
  local place <const>, message <const>, code <const> = url.parse(text)
  if place == nil then return nil, message, code end
  local before, rest = place.path:match("^(.-/debug/pprof)/?(.*)$")
  if before == nil then
    if place.path ~= "/" then
      return nil, url.shown(text) .. ": no address of net/http/pprof (no /debug/pprof in it)",
        "malformed"
    end
    before, rest = PATH:sub(1, -2), ""
  end
  local profile <const>, query <const> = rest:match("^([^?]*)%??(.*)$")
  return { base = url.at(place, before .. "/"), place = place,
    profile = profile ~= "" and profile or nil, query = query ~= "" and query or nil }
end

-- How long the server itself will take.
local function own_time(profile, query)
  local seconds = tonumber(("&" .. (query or "")):match("&seconds=([%d.]+)"))
  if seconds == nil or seconds <= 0 then
    seconds = profile == "profile" and CPU_SECONDS or profile == "trace" and TRACE_SECONDS or 0
  end
  local ns <const> = math.tointeger(math.floor(math.min(seconds, 1e6) * SECOND))
  local collects <const> = ("&" .. (query or "")):find("&gc=[1-9]") ~= nil
  return ns + (collects and COLLECTION or ANSWER)
end

local HINTS <const> = {
  { "already in use", "take it again when the other CPU profile has ended" },
  { "WriteTimeout", "a shorter --duration" },
}

-- What a refusal means, when it is one that we know.
local function explain(answer, endpoint, profile)
  local message, code = http.refusal(answer)
  if answer.headers["x-go-pprof"] == nil and answer.status == 404 then
    return ("%s (does the program import net/http/pprof?)"):format(message), code
  end
  for _, known in ipairs(HINTS) do
    if answer.body:find(known[1], 1, true) then return message, code, known[2] end
  end
  if answer.status == 404 and profile ~= "" then
    return message, code, url.shown(endpoint.base) .. " lists the profiles"
  end
  return message, code
end

--- Reads one profile as it comes: any name, with any query.
-- @tparam string address see `pprof.endpoint`
-- @tparam string profile its name: "heap", "goroutine", "profile" (CPU), "trace", …;
--   "" for the index
-- @tparam ?string query such as "debug=2" or "seconds=5"
-- @tparam ?table given see `pprof.options`
-- @treturn ?string bytes
-- @treturn ?string message; beside bytes it says that they are incomplete
-- @treturn ?string code
-- @treturn ?string hint
function pprof.fetch(address, profile, query, given)
  local opts <const> = options.check(pprof.options, given, "pprof.fetch")
  local endpoint, message, code = pprof.endpoint(address)
  if endpoint == nil then return nil, message, code end
  if query == "" then query = nil end
  local answer, hint
  answer, message, code, hint = http.request {
    url = endpoint.base .. url.escape(profile):gsub("%%2F", "/") .. (query and "?" .. query or ""),
    timeout = opts.timeout or own_time(profile, query), max_bytes = opts.max_bytes,
    header = opts.header, ca = opts.ca, insecure = opts.insecure, keep_alive = false,
  }
  if answer == nil then return nil, message, code, hint end
  if http.refusal(answer) then return nil, explain(answer, endpoint, profile) end
  return answer.body, message, code
end

--- How many records each profile of a server has, as its index says.
-- @tparam string address
-- @tparam ?table given see `pprof.options`
-- @treturn ?table name to number; `goroutine` tells what a dump would cost
-- @treturn ?string message
-- @treturn ?string code
function pprof.index(address, given)
  local page, message, code, hint = pprof.fetch(address, "", nil, given)
  if page == nil then return nil, message, code, hint end
  local counts = {}
  for count, name in page:gmatch("<tr><td>(%d+)</td><td><a href='?([^'?>]+)") do
    counts[name] = math.tointeger(tonumber(count))
  end
  return counts
end

--- The command line of the process that serves, to know that it is the one.
-- @tparam string address
-- @tparam ?table given see `pprof.options`
-- @treturn ?{string,...}
-- @treturn ?string message
-- @treturn ?string code
function pprof.command_line(address, given)
  local text, message, code, hint = pprof.fetch(address, "cmdline", nil, given)
  if text == nil then return nil, message, code, hint end
  local words = {}
  for word in (text .. "\0"):gmatch("([^\0]*)\0") do words[#words + 1] = word end
  return words
end

return pprof
