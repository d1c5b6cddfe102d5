--- Redacts dumps: of goroutines and native threads, of the threads of a .NET
-- process, and single records of them.
-- @module sonde.redact.dump
local dump = {}

-- Only what is text of the program is touched; states and addresses stay.
local function redact_frame(r, frame)
  if frame.func and not frame.func:find("^0x%x+$") then
    frame.func = r:name(frame.func, frame.module or "")
  end
  if frame.file then frame.file = r:path(frame.file) end
  if frame.module then frame.module = r:path(frame.module) end
  return frame
end

local function redact_labels(r, labels)
  local shown = {}
  for key, value in pairs(labels) do
    local fresh <const> = r:label_key(key)
    shown[fresh] = type(value) == "string" and r:label(value, key) or value
  end
  return shown
end

-- "goroutine profile: total 12" says what the dump is.
local function redact_notes(r, text)
  return (text:gsub("[^\n]+", function(line)
    if line:find("^[%w_./-]+ profile: total %d+") or not line:find("%S") then return line end
    return r:text(line)
  end))
end

--- Redacts a record of a goroutine or a thread, in place.
-- @tparam Redactor r
-- @tparam table record the fields of docs/dumps.md; `raw` is left out
-- @treturn table the same
function dump.record(r, record)
  for _, frame in ipairs(record.frames) do redact_frame(r, frame) end
  if type(record.created_by) == "table" then redact_frame(r, record.created_by) end
  record.labels = redact_labels(r, record.labels or {})
  if record.thread_name then record.thread_name = r:thread(record.thread_name) end
  if record.error then record.error = r:text(record.error) end
  record.raw, record.before = nil, nil
  return record
end

local Core <const> = {}
Core.__index = Core

function Core:info()
  local info <const> = self.core:info()
  info.notes = redact_notes(self.redactor, info.notes)
  return info
end

function Core:place(number)
  return redact_frame(self.redactor, self.core:place(number))
end

function Core:groups()
  local next_row <const>, state <const>, start <const> = self.core:groups()
  return function(_, i)
    local number, row = next_row(state, i)
    if row == nil then return number end
    if row.thread_name then row.thread_name = self.redactor:thread(row.thread_name) end
    if row.labels then row.labels = redact_labels(self.redactor, row.labels) end
    if row.error then row.error = self.redactor:text(row.error) end
    return number, row
  end, nil, start
end

function Core:profile(opts)
  local profile, message, code = self.core:profile(opts)
  if profile == nil then return nil, message, code end
  return self.redactor:profile(profile)
end

-- What is made of numbers alone.
for _, name in ipairs { "stack", "rows", "locks", "races", "close" } do
  Core[name] = function(self, ...) return self.core[name](self.core, ...) end
end

--- Makes a dump that tells nothing of the program's own names. Filters were
-- asked by the true ones.
-- @tparam Redactor redactor
-- @tparam Dump original of `sonde.dump`
-- @treturn Dump
function dump.wrap(redactor, original)
  local shown = {}
  for key, value in pairs(original) do shown[key] = value end
  shown.core = setmetatable({ core = original.core, redactor = redactor }, Core)
  shown.name = redactor:path(original.name)
  shown.places, shown.stacks, shown.grouped, shown.reopen, shown.labels_by = nil, nil, nil, nil, nil
  shown.filters = {}
  for i, filter in ipairs(original.filters) do
    shown.filters[i] = filter:gsub("^func=.*", "func=[redacted]"):gsub("^state=.*",
      "state=[redacted]")
  end
  return setmetatable(shown, getmetatable(original))
end

local function redact_method(r, frame)
  if frame.method == "" then return { ip = frame.ip, method = "", type = "", assembly = "" } end
  local space, name = r:method(frame.type, frame.method)
  return { ip = frame.ip, type = space, method = name,
    assembly = frame.assembly ~= "" and r:assembly(frame.assembly) or "" }
end

--- Makes a dump of the threads of a .NET process that tells nothing of the
-- program's own names.
-- @tparam Redactor redactor
-- @tparam Dump original of `sonde.dotnet.dump`
-- @treturn Dump
function dump.managed(redactor, original)
  local shown = { pid = original.pid, taken_at = original.taken_at, threads = {},
    name = redactor:thread(original.name) }
  for i, thread in ipairs(original.threads) do
    local copy = {}
    for key, value in pairs(thread) do copy[key] = value end
    copy.thread_name = thread.thread_name and redactor:thread(thread.thread_name)
    copy.frames = {}
    for k, frame in ipairs(thread.frames) do copy.frames[k] = redact_method(redactor, frame) end
    shown.threads[i] = copy
  end
  return setmetatable(shown, getmetatable(original))
end

return dump
