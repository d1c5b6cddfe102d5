--- The host program's own coroutines as a transport: all that can be reached from
-- the registry, from globals, upvalues and locals, and from the loop's tasks.
-- @module sonde.capture.transports.inprocess
local uv <const> = require "sonde.base.uv"

local inprocess = {}

-- Values that are looked at; a program with more has its first so many searched.
local MOST_VALUES <const> = 1000000

local function add(search, value)
  local kind <const> = type(value)
  if kind ~= "table" and kind ~= "function" and kind ~= "thread" and kind ~= "userdata" then
    return
  end
  if search.seen[value] or search.n >= MOST_VALUES then return end
  search.seen[value] = true
  search.n = search.n + 1
  search[search.n] = value
  if kind == "thread" then search.threads[#search.threads + 1] = value end
end

local Visit <const> = {}

function Visit.table(search, value)
  for key, item in next, value do
    add(search, key)
    add(search, item)
  end
  add(search, debug.getmetatable(value))
end

Visit["function"] = function(search, value)
  local i = 1
  while true do
    local name <const>, item <const> = debug.getupvalue(value, i)
    if name == nil then return end
    add(search, item)
    i = i + 1
  end
end

function Visit.userdata(search, value)
  add(search, debug.getmetatable(value))
  local i = 1
  while true do
    local item <const>, exists <const> = debug.getuservalue(value, i)
    if not exists then return end
    add(search, item)
    i = i + 1
  end
end

-- Coroutines that are held by nothing but a local of another are found there.
function Visit.thread(search, value)
  local level = 0
  while true do
    local info <const> = debug.getinfo(value, level, "f")
    if info == nil then return end
    add(search, info.func)
    local i = 1
    while true do
      local name <const>, item <const> = debug.getlocal(value, level, i)
      if name == nil then break end
      add(search, item)
      i = i + 1
    end
    level = level + 1
  end
end

local function find_threads(first)
  local search <const> = { n = 0, seen = {}, threads = {} }
  add(search, first)
  add(search, debug.getregistry())
  local i = 1
  while i <= search.n do
    local value <const> = search[i]
    Visit[type(value)](search, value)
    i = i + 1
  end
  return search.threads
end

local function frames_of(thread, level)
  local frames = {}
  while true do
    local info <const> = debug.getinfo(thread, level, "Sln")
    if info == nil then return frames end
    local func = info.name or (info.what == "main" and "main chunk")
      or info.what == "C" and "[C]" or ("function <%s:%d>"):format(info.short_src, info.linedefined)
    frames[#frames + 1] = { func = func, file = info.what ~= "C" and info.short_src or nil,
      line = info.currentline > 0 and info.currentline or nil }
    level = level + 1
  end
end

local function record_of(thread, current, number)
  local raw <const> = debug.traceback(thread)
  return { goroutine_id = number, state = coroutine.status(thread), count = 1, raw = raw,
    frames = frames_of(thread, thread == current and 3 or 0) }
end

--- The transport.
-- @treturn table
function inprocess.new()
  local self <const> = { name = "inprocess", destructive = false }

  function self.available(pid)
    if pid == uv.os_getpid() then return true end
    return nil, "it is another process than this", "unavailable"
  end

  function self.dump()
    local current <const> = coroutine.running()
    local records = {}
    for i, thread in ipairs(find_threads(current)) do
      if coroutine.status(thread) ~= "dead" then
        records[#records + 1] = record_of(thread, current, i)
      end
    end
    return { transport = "inprocess", format = "lua", records = records,
      collected_at = os.time() }
  end

  return self
end

return inprocess
