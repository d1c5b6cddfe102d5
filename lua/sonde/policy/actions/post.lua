--- `{ post = { url = "…", json = { … } } }`: tells a web server, or hands a file
-- over to it.
-- @module sonde.policy.actions.post
local files <const> = require "sonde.base.files"
local json <const> = require "sonde.base.json"

local post = {}

local SECOND <const> = 1000000000
local MOST_FILE <const> = 512 << 20

--- Fields.
post.fields = {
  { name = "url", type = "string", required = true, help = "http or https" },
  { name = "method", type = "string", choices = { "POST", "PUT" }, default = "POST",
    help = "PUT for an address that was signed beforehand" },
  { name = "json", type = "table", help = "what is sent, its texts filled in" },
  { name = "text", type = "string", help = "or a text" },
  { name = "file", type = "string", help = "or a file, such as %{trace.path}" },
  { name = "header", type = "string", many = true, help = "further lines of the head" },
  { name = "timeout", type = "duration", default = 30 * SECOND, min = 1, help = "how long" },
}

--- Checks more than the fields.
-- @tparam table spec
-- @tparam string where
-- @tparam table problems
function post.check(spec, where, problems)
  local n = 0
  for _, name in ipairs { "json", "text", "file" } do
    if spec[name] ~= nil then n = n + 1 end
  end
  if n > 1 then problems:add(where, "takes one of json, text and file") end
  if type(spec.url) == "string" and not spec.url:find "^https?://" then
    problems:add(where .. ".url", "must begin with http:// or https://", "url")
  end
end

--- Says what it does.
-- @tparam table spec
-- @treturn string
function post.explain(spec)
  local what <const> = spec.file or spec.json and "a JSON text" or spec.text and "a text"
    or "nothing but the request"
  return ("%s %s to %s"):format(spec.method, what, spec.url)
end

--- What it costs.
-- @tparam table spec
-- @treturn table `duration_ns`
function post.cost(spec)
  return { duration_ns = spec.timeout }
end

local function body_of(spec)
  if spec.json then return json.encode(spec.json), "application/json" end
  if spec.file == nil then return spec.text or "", "text/plain; charset=utf-8" end
  local data <const>, message <const> = files.read(spec.file, MOST_FILE)
  if data == nil then return nil, message end
  return data, "application/octet-stream"
end

--- Does it.
-- @tparam table spec
-- @treturn ?table `status body`
-- @treturn ?string message
-- @treturn ?string code
function post.run(spec)
  local http <const> = require "sonde.base.http"
  local body <const>, kind <const> = body_of(spec)
  if body == nil then return nil, kind, "not_found" end
  local answer, message, code = http.request {
    url = spec.url, method = spec.method, body = body, header = spec.header,
    headers = { ["Content-Type"] = kind }, timeout = spec.timeout, max_bytes = 1 << 20,
  }
  if answer == nil then return nil, message, code end
  local refused, why = http.refusal(answer)
  if refused then return nil, refused, why end
  return { status = answer.status, body = answer.body }
end

return post
