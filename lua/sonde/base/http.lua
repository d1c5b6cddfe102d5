--- HTTP requests: http, https and Unix sockets, over libcurl on the event loop.
--
--    local answer, message, code = http.request {
--      url = "http://localhost:6060/debug/pprof/heap", timeout = "10s" }
--    if answer and answer.status == 200 then use(answer.body) end
--
-- Any status is an answer; `http.refusal` puts those above 299 into words. What
-- came of a body that ended too early, or was larger than allowed, is returned
-- with message and code beside it, as all partial data is.
-- @module sonde.base.http
local errors <const> = require "sonde.base.errors"
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"
local url <const> = require "sonde.base.url"
local uv <const> = require "sonde.base.uv"

local http = {}

local MS <const> = 1000000
local SECOND <const> = 1000 * MS

--- Options of `http.request`.
http.options = options.join(require "sonde.base.connection", {
  { name = "url", type = "string", help = "the address" },
  { name = "method", type = "string", choices = { "GET", "POST", "PUT", "HEAD", "DELETE" },
    default = "GET", help = "the method" },
  { name = "headers", type = "table", help = "further fields of the head, name to value" },
  { name = "body", type = "string", help = "what is sent" },
  { name = "user", type = "string", help = "user, for Basic authentication" },
  { name = "password", type = "string", help = "the user's password" },
  { name = "token", type = "string", help = "token, for Bearer authentication" },
  { name = "timeout", type = "duration", default = 30 * SECOND, default_text = "30s", min = 1,
    help = "how long it may take as a whole" },
  { name = "deadline", type = "integer", help = "the same as a time of the loop; counts instead" },
  { name = "connect_timeout", type = "duration", default = 10 * SECOND, default_text = "10s",
    min = MS, help = "how long connecting may take" },
  { name = "max_bytes", type = "size", default = 256 << 20, default_text = "256MiB", min = 1,
    help = "most of the answer's body, unpacked" },
  { name = "redirects", type = "integer", default = 5, min = 0, max = 20,
    help = "how many redirections within the server are followed" },
  { name = "keep_alive", type = "boolean", default = true,
    help = "leave the connection open for the next request" },
  { name = "on_data", type = "function",
    help = "called with each piece of a body of status 2xx, which is then not kept; may wait" },
})

local driver   -- the one client, its watches and what runs in it

local function load_module()
  local loaded, module = errors.pcall(require, "sonde.c.http")
  if loaded then return module end
  return nil, "HTTP is not built in: libcurl was missing", "unavailable",
    "apt-get install libcurl4-openssl-dev, then make"
end

--- Can requests be made?
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code `unavailable`
-- @treturn ?string hint
function http.available()
  local module, message, code, hint = load_module()
  if module == nil then return nil, message, code, hint end
  return true
end

local turn

-- Curl wants to be called again at some time. Never within the same turn: libuv
-- would not leave its timers then.
local function arm()
  local ms <const> = driver.client:timeout()
  if ms == nil then
    driver.timer:stop()
  else
    uv.update_time()
    driver.timer:start(math.max(1, ms), 0, loop.guard(turn))
  end
end

function turn()
  for _, id in ipairs(driver.client:act()) do
    local news <const> = driver.news[id]
    if news then news:set() end
  end
  arm()
end

local function start_driver(module)
  if driver then return end
  local client <const> = assert(module.client())
  local made <const> = { client = client, news = {}, running = 0, timer = uv.new_timer(),
    poll = assert(uv.new_poll(client:fd())) }
  made.poll:start("r", loop.guard(turn))
  made.poll:unref()
  made.timer:unref()
  driver = made
end

-- A host's run of the loop goes on while a request runs.
local function count_running(change)
  driver.running = driver.running + change
  for _, handle in ipairs { driver.poll, driver.timer } do
    if driver.running > 0 then handle:ref() else handle:unref() end
  end
end

local function check_line(line)
  if line:find("[\r\n%z]") or not line:find("^[%w!#$%%&'*+.^_`|~-]+[:;]") then
    error(("bad header (NAME: VALUE expected, got '%s')"):format(text.printable(line)), 0)
  end
  return line
end

-- The head as lines. Curl's "Expect: 100-continue" only costs a round trip.
local function head_of(opts)
  local lines = { "Expect:", "User-Agent: sonde" }
  if opts.body and (opts.headers or {})["Content-Type"] == nil then
    lines[#lines + 1] = "Content-Type: application/octet-stream"
  end
  for name, value in pairs(opts.headers or {}) do
    lines[#lines + 1] = check_line(("%s: %s"):format(name, value))
  end
  for _, line in ipairs(opts.header or {}) do lines[#lines + 1] = check_line(line) end
  if opts.token then lines[#lines + 1] = check_line("Authorization: Bearer " .. opts.token) end
  return lines
end

-- Who we are: as the call says, the address, or the environment.
local function add_credentials(opts, place)
  if opts.user or opts.token then return end
  if place.user then
    opts.user, opts.password = place.user, place.password
    return
  end
  opts.token = os.getenv "SONDE_HTTP_TOKEN"
  opts.user = not opts.token and os.getenv "SONDE_HTTP_USER" or nil
  opts.password = opts.user and os.getenv "SONDE_HTTP_PASSWORD" or nil
end

local function begin(opts, place)
  return driver.client:begin {
    url = ("%s://%s:%d%s"):format(place.scheme, place.host, place.port, place.path),
    unix_socket = place.unix_socket, method = opts.method, body = opts.body,
    user = opts.user, password = opts.password, headers = opts.lines,
    ca = opts.ca or os.getenv "SSL_CERT_FILE", insecure = opts.insecure, reuse = opts.keep_alive,
    direct = url.is_local(place), most = opts.max_bytes,
    connect_ms = math.max(1, opts.connect_timeout // MS),
  }
end

-- Field names in lower case; of a field that comes twice the values are joined.
local function fields_of(head)
  local fields = {}
  for line in head:gmatch("[^\r\n]+") do
    local name <const>, value <const> = line:match("^([^:%s]+):%s*(.-)%s*$")
    if name then
      local key <const> = name:lower()
      fields[key] = fields[key] and fields[key] .. ", " .. value or value
    end
  end
  return fields
end

-- Curl's numbers for what went wrong, and what they mean here.
local COULD_NOT_RESOLVE <const>, COULD_NOT_CONNECT <const> = 6, 7
local MEANINGS <const> = {
  [1] = { "answers, but not in HTTP", "malformed" },
  [3] = { "no address", "malformed" },
  [5] = { "the proxy's name is not known", "not_found" },
  [COULD_NOT_RESOLVE] = { "no host of that name", "not_found" },
  [8] = { "answers, but not in HTTP", "malformed" },
  [16] = { "the connection broke", "truncated" },
  [18] = { "the answer ended too early", "truncated" },
  [28] = { "cannot connect in time", "timeout" },
  [52] = { "closed the connection without an answer", "truncated" },
  [55] = { "the connection broke while the request was sent", "truncated" },
  [56] = { "the connection broke", "truncated" },
  [61] = { "the answer's packing is damaged", "malformed" },
  [92] = { "the connection broke", "truncated" },
}
local CERTIFICATE <const> = { [60] = true, [77] = true, [83] = true, [90] = true, [91] = true }

local function failure_words(state)
  if CERTIFICATE[state.curl] then
    return "its certificate is not trusted: " .. state.message, "permission", "--insecure"
  end
  local meaning <const> = MEANINGS[state.curl]
  if state.curl == COULD_NOT_CONNECT then
    local words = state.system or state.message
    return "cannot connect: " .. words:sub(1, 1):lower() .. words:sub(2), "unavailable"
  end
  if meaning == nil then return state.message, "unavailable" end
  local why <const> = state.system or (meaning[2] == "truncated" or meaning[2] == "malformed")
    and state.message or nil
  return why and ("%s (%s)"):format(meaning[1], why) or meaning[1], meaning[2]
end

local function too_large(state, opts)
  local packed <const> = fields_of(state.head)["content-encoding"]
  return ("the answer is larger than %s%s"):format(units.bytes(opts.max_bytes),
    packed and " when unpacked" or ""), "limit"
end

-- Why a transfer that has ended did not end well; nil when it did.
local function trouble(state, opts)
  if state.stop == "too_large" then return too_large(state, opts) end
  if state.stop == "head_too_large" then return "the answer's head is endless", "malformed" end
  if state.stop == "no_memory" then return "not enough memory", "limit" end
  if state.curl ~= 0 then return failure_words(state) end
end

-- What had been reached when the time was over.
local function lateness(state, took)
  local time <const> = units.duration(took)
  if not state.connected then return ("no connection within %s"):format(time) end
  if state.head == "" then return ("connected, but no answer within %s"):format(time) end
  return ("the answer had not ended after %s: %s had come"):format(time,
    units.bytes(state.received))
end

-- Moves the body to its taker until the end or the deadline.
local function pump(transfer, deadline, deliver)
  local id <const> = transfer:id()
  local _ <close> = setmetatable({}, { __close = function() driver.news[id] = nil end })
  while true do
    local piece <const> = transfer:take()
    arm()
    if piece then
      deliver(piece)
    elseif transfer:is_done() then
      return true
    else
      driver.news[id] = loop.event()
      local happened, message, code = driver.news[id]:wait(deadline)
      if not happened then return nil, message, code end
    end
  end
end

local function is_good(status)
  return status >= 200 and status < 300
end

-- One request, no redirection followed: state, body; or with message and code.
local function exchange(opts, place)
  local pieces, began = {}, loop.now()
  local transfer <close>, refused <const>, refusal <const> = begin(opts, place)
  if transfer == nil then return nil, refused, refusal end
  count_running(1)
  local _ <close> = setmetatable({}, { __close = function() count_running(-1) end })
  local streams
  local done, message, code = pump(transfer, opts.deadline, function(piece)
    if streams == nil then
      streams = opts.on_data ~= nil and is_good(transfer:state().status)
    end
    if streams then opts.on_data(piece) else pieces[#pieces + 1] = piece end
  end)
  local state <const> = transfer:state()
  state.body = table.concat(pieces)
  if done then return state, trouble(state, opts) end
  if code == "timeout" then message = lateness(state, loop.now() - began) end
  return state, message, code
end

-- Where a redirection leads, when we follow it: within the server, or to the
-- same host over TLS.
local function next_place(place, target)
  local parsed, message = url.parse(target)
  if parsed == nil then return nil, "redirects to " .. message end
  local same <const> = parsed.host == place.host
    and (parsed.scheme == place.scheme and parsed.port == place.port
      or parsed.scheme == "https" and place.scheme == "http")
  if not same then
    return nil, ("redirects to another server: %s"):format(url.shown(target))
  end
  parsed.unix_socket = place.unix_socket
  if place.unix_socket then parsed.origin = place.origin end
  return parsed
end

-- Statuses that repeat the request as it is; the others make it a GET.
local REPEATS <const> = { [307] = true, [308] = true }

local function follow(opts, place)
  local redirects = 0
  while true do
    local state, message, code, hint = exchange(opts, place)
    if state == nil or message or state.redirect == nil then
      return state, message, code, hint, place
    end
    redirects = redirects + 1
    if redirects > opts.redirects then
      return nil, ("more than %d redirections"):format(opts.redirects), "unavailable"
    end
    local target, why = next_place(place, state.redirect)
    if target == nil then return nil, why, "unavailable", url.shown(state.redirect) end
    place = target
    if opts.body and not REPEATS[state.status] then opts.method, opts.body = "GET", nil end
  end
end

--- Makes a request and waits for its end.
-- @tparam table given see `http.options`; without `user` or `token`, and when the
--   address has none, $SONDE_HTTP_TOKEN, or $SONDE_HTTP_USER with
--   $SONDE_HTTP_PASSWORD, say who we are
-- @treturn ?table the answer: `status`, `headers` (name in lower case to text),
--   `body` (empty when `on_data` took it), `received` (bytes of the body), `url`;
--   nil when there is none
-- @treturn ?string message; beside an answer it says that the body is incomplete
-- @treturn ?string code `unavailable not_found timeout canceled truncated malformed
--   limit permission`
-- @treturn ?string hint
function http.request(given)
  local opts <const> = options.check(http.options, given, "http.request")
  if opts.url == nil then error("bad options to 'http.request' (url is missing)", 2) end
  local module, message, code, hint = load_module()
  if module == nil then return nil, message, code, hint end
  local place
  place, message, code = url.parse(opts.url)
  if place == nil then return nil, message, code end
  add_credentials(opts, place)
  opts.lines = head_of(opts)
  opts.deadline = opts.deadline or loop.after(opts.timeout)
  start_driver(module)
  local state, last
  state, message, code, hint, last = follow(opts, place)
  local shown <const> = url.shown(opts.url)
  if message then message = ("%s: %s"):format(shown, message) end
  if state == nil or message and state.received == 0 then return nil, message, code, hint end
  return { status = state.status, headers = fields_of(state.head), body = state.body,
    received = state.received, url = url.at(last, last.path) }, message, code, hint
end

local STATUS_CODES <const> = {
  [401] = "permission", [403] = "permission", [404] = "not_found", [407] = "permission",
  [408] = "timeout", [410] = "not_found", [504] = "timeout",
}

local LONGEST_EXCERPT <const> = 300

-- The words of an error's body: of a page its title, of others their beginning.
local function excerpt(answer)
  local body <const> = answer.body
  if body:find("\0", 1, true) or body:sub(1, 2) == "\31\139" then return nil end
  local words = body
  if body:find("^%s*<") then
    local title <const> = body:match("<[tT][iI][tT][lL][eE][^>]*>(.-)</")
    words = "an HTML page" .. (title and (", '%s'"):format(title) or "")
  end
  words = text.utf8(words):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
  return words ~= "" and text.cut(text.printable(words), LONGEST_EXCERPT) or nil
end

--- Puts into words that a server refused.
-- @tparam table answer of `http.request`
-- @treturn ?string message; nil when the status is one of success
-- @treturn ?string code `permission not_found timeout unavailable`
function http.refusal(answer)
  if is_good(answer.status) then return nil end
  local said <const> = excerpt(answer)
  return ("%s: HTTP %d%s"):format(url.shown(answer.url), answer.status,
    said and ": " .. said or ""), STATUS_CODES[answer.status] or "unavailable"
end

return http
