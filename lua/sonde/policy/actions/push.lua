--- `{ push = { url = "http://pyroscope:4040", file = "%{record.path}" } }`: hands a
-- profile to a continuous-profiling server, by Pyroscope's ingest API.
-- @module sonde.policy.actions.push
local url <const> = require "sonde.base.url"

local push = {}

local SECOND <const> = 1000000000

--- Fields.
push.fields = {
  { name = "url", type = "string", required = true,
    help = "the server: http://HOST:PORT; a path is put before /ingest" },
  { name = "file", type = "string", required = true,
    help = "a profile, or a trace that one is made of: %{record.path}" },
  { name = "name", type = "string", default = "%{name}", help = "of the application" },
  { name = "labels", type = "table", help = "names and values that are kept with it" },
  { name = "header", type = "string", many = true, help = "further lines of the head" },
  { name = "timeout", type = "duration", default = 60 * SECOND, min = 1, help = "how long" },
}

--- Checks more than the fields.
-- @tparam table spec
-- @tparam string where
-- @tparam table problems
function push.check(spec, where, problems)
  if type(spec.url) == "string" and not spec.url:find "^https?://" then
    problems:add(where .. ".url", "must begin with http:// or https://", "url")
  end
  for name, value in pairs(spec.labels or {}) do
    if type(name) ~= "string" or not name:find "^[%a_][%w_]*$" or type(value) == "table" then
      problems:add(where .. ".labels", "must give a text for each name", "labels")
      return
    end
  end
end

--- Says what it does.
-- @tparam table spec
-- @treturn string
function push.explain(spec)
  return ("hand %s to the profiling server at %s as %s"):format(spec.file, url.shown(spec.url),
    spec.name)
end

--- What it costs.
-- @tparam table spec
-- @treturn table `duration_ns`
function push.cost(spec)
  return { duration_ns = spec.timeout }
end

-- Braces, commas and the like are the server's own signs.
local function plain(text)
  return (tostring(text):gsub('[{}=,"%c]', "_"))
end

-- "api{host=a,pid=4242}"
local function series_of(spec)
  local list = {}
  for name, value in pairs(spec.labels or {}) do
    list[#list + 1] = ("%s=%s"):format(name, plain(value))
  end
  table.sort(list)
  local name <const> = plain(spec.name)
  return #list == 0 and name or ("%s{%s}"):format(name, table.concat(list, ","))
end

-- The file as a profile; one that is a profile goes as it is.
local function profile_of(path)
  local opened, message, code = require("sonde").open(path)
  if opened == nil then return nil, message, code end
  if opened.profile == nil then return opened end
  local profile
  profile, message, code = opened:profile()
  if profile == nil then return nil, message, code end
  return profile
end

-- When it began and ended, in Unix seconds; what the file does not tell is now.
local function times_of(profile)
  local info <const> = profile:info()
  local from <const> = (info.time_ns or 0) > 0 and info.time_ns // SECOND or os.time()
  return from, from + math.max(1, (info.duration_ns or 0) // SECOND)
end

--- Does it.
-- @tparam table spec
-- @treturn ?table `status bytes`
-- @treturn ?string message
-- @treturn ?string code
function push.run(spec)
  local http <const> = require "sonde.base.http"
  local profile, message, code = profile_of(spec.file)
  if profile == nil then return nil, message, code end
  local body
  body, message, code = profile:encode { gzip = true }
  if body == nil then return nil, message, code end
  local from <const>, till <const> = times_of(profile)
  local answer
  answer, message, code = http.request {
    url = ("%s/ingest?name=%s&from=%d&until=%d&format=pprof&spyName=sonde"):format(
      spec.url:gsub("/+$", ""), url.escape(series_of(spec)), from, till),
    method = "POST", body = body, header = spec.header, timeout = spec.timeout,
    headers = { ["Content-Type"] = "application/octet-stream" }, max_bytes = 1 << 20,
  }
  if answer == nil then return nil, message, code end
  local refused, why = http.refusal(answer)
  if refused then return nil, refused, why end
  return { status = answer.status, bytes = 0, sent = #body }
end

return push
