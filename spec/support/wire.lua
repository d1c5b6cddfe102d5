-- The diagnostics protocol written a second time, in plain Lua and from its
-- description, so that the C code is not checked against itself.
local wire = {}

local MAGIC <const> = "DOTNET_IPC_V1\0"

--- A string: count of UTF-16 units with the closing zero, then the units.
function wire.string(text)
  if text == nil then return "\0\0\0\0" end
  local units = {}
  for _, code in utf8.codes(text) do
    if code >= 0x10000 then
      code = code - 0x10000
      units[#units + 1] = ("<I2I2"):pack(0xd800 | code >> 10, 0xdc00 | code & 0x3ff)
    else
      units[#units + 1] = ("<I2"):pack(code)
    end
  end
  local body <const> = table.concat(units) .. "\0\0"
  return ("<I4"):pack(#body // 2) .. body
end

--- A whole message.
function wire.message(set, number, payload)
  payload = payload or ""
  return MAGIC .. ("<I2BBI2"):pack(20 + #payload, set, number, 0) .. payload
end

--- A reply that all is well.
function wire.ok(payload)
  return wire.message(0xff, 0x00, payload)
end

--- A refusal.
function wire.error(hresult, text)
  return wire.message(0xff, 0xff, ("<I4"):pack(hresult) .. (text and wire.string(text) or ""))
end

wire.COOKIE = "\x33\x22\x11\x00\x55\x44\x77\x66\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
wire.COOKIE_TEXT = "00112233-4455-6677-8899-aabbccddeeff"

--- The payload of ProcessInfo 1, 2 or 3.
function wire.info(version, facts)
  local payload = ("<I8"):pack(facts.pid) .. wire.COOKIE .. wire.string(facts.command_line)
    .. wire.string(facts.system or "Linux") .. wire.string(facts.architecture or "x64")
  if version >= 2 then
    payload = payload .. wire.string(facts.entry_assembly) .. wire.string(facts.version)
  end
  if version == 3 then payload = "\1\0\0\0" .. payload .. wire.string(facts.rid or "linux-x64") end
  return payload
end

--- What follows the reply to ProcessEnvironment, and that reply's payload.
function wire.environment(list)
  local pieces = { ("<I4"):pack(#list) }
  for _, variable in ipairs(list) do pieces[#pieces + 1] = wire.string(variable) end
  local body <const> = table.concat(pieces)
  return ("<I4I2"):pack(#body, 0), body
end

--- What a runtime says first on a reverse connection.
function wire.advertise(pid)
  return "ADVR_V1\0" .. wire.COOKIE .. ("<I8I2"):pack(pid, 0)
end

local function read_string(bytes, at)
  local n
  n, at = ("<I4"):unpack(bytes, at)
  if n == 0 then return nil, at end
  local codes = {}
  for i = 1, n do codes[i], at = ("<I2"):unpack(bytes, at) end
  assert(table.remove(codes) == 0, "a string without its zero")
  local text, i = {}, 1
  while i <= #codes do
    local code = codes[i]
    if code & 0xfc00 == 0xd800 then
      i = i + 1
      code = 0x10000 + ((code & 0x3ff) << 10 | codes[i] & 0x3ff)
    end
    text[#text + 1] = utf8.char(code)
    i = i + 1
  end
  return table.concat(text), at
end

local function read_providers(bytes, at, filtered)
  local list = {}
  local n
  n, at = ("<I4"):unpack(bytes, at)
  for i = 1, n do
    local p = {}
    p.keywords, p.level, at = ("<I8I4"):unpack(bytes, at)
    p.name, at = read_string(bytes, at)
    p.arguments, at = read_string(bytes, at)
    if filtered then
      local only, count
      only, count, at = ("<BI4"):unpack(bytes, at)
      p.only, p.ids = only == 1, {}
      for k = 1, count do p.ids[k], at = ("<I4"):unpack(bytes, at) end
    end
    list[i] = p
  end
  return list, at
end

local READERS <const> = {
  [0x0201] = function(b, r) r.session, r.at = ("<I8"):unpack(b, r.at) end,
}
for number = 2, 7 do
  READERS[0x0200 | number] = function(b, r)
    if number >= 6 then r.type, r.at = ("<I4"):unpack(b, r.at) end
    r.buffer_mb, r.format, r.at = ("<I4I4"):unpack(b, r.at)
    if number == 3 or number == 4 then r.rundown, r.at = ("<B"):unpack(b, r.at) end
    if number >= 5 then r.rundown_keyword, r.at = ("<I8"):unpack(b, r.at) end
    if number >= 4 then r.stackwalk, r.at = ("<B"):unpack(b, r.at) end
    r.providers, r.at = read_providers(b, r.at, number >= 6)
    if number == 7 then r.buffer_mode, r.at = ("<I4"):unpack(b, r.at) end
  end
end
for number = 1, 3 do
  READERS[0x0100 | number] = function(b, r)
    r.path, r.at = read_string(b, r.at)
    r.dump_type, r.dump_flags, r.at = ("<I4I4"):unpack(b, r.at)
  end
end
READERS[0x0301] = function(b, r)
  r.timeout, r.clsid, r.at = ("<I4c16"):unpack(b, r.at)
  r.path, r.at = read_string(b, r.at)
  r.client_data, r.at = ("<s4"):unpack(b, r.at)
end
READERS[0x0302] = function(b, r)
  r.clsid, r.at = ("<c16"):unpack(b, r.at)
  r.path, r.at = read_string(b, r.at)
end
READERS[0x0403] = function(b, r)
  r.name, r.at = read_string(b, r.at)
  r.value, r.at = read_string(b, r.at)
end
READERS[0x0405] = function(b, r) r.perf_map_type, r.at = ("<I4"):unpack(b, r.at) end
READERS[0x0407] = function(b, r) r.path, r.at = read_string(b, r.at) end

--- Reads a request as a runtime does; raises on whatever it would refuse.
function wire.request(bytes)
  local magic, size, set, number, reserved, at = ("<c14I2BBI2"):unpack(bytes)
  assert(magic == MAGIC and size == #bytes and reserved == 0, "a wrong header")
  local request = { set = set, number = number, at = at }
  local read <const> = READERS[set << 8 | number]
  if read then read(bytes, request) end
  assert(request.at == #bytes + 1, "bytes behind the payload")
  request.at = nil
  return request
end

return wire
