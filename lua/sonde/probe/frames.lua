--- Stacks of a run as frames with names.
-- @module sonde.probe.frames
local processes <const> = require "sonde.probe.processes"
local user <const> = require "sonde.probe.user"

local frames = {}

-- A function that was probed, as the frame where its probe was.
local function own_frame(func)
  if func.own_frame then return func.own_frame end
  func.own_frame = { type = func.kind == "user" and "user" or "kernel", name = func.name,
    function_id = func.id, offset = 0, address = func.address or 0,
    file = func.kind == "user" and func.binary or func.module or "" }
  return func.own_frame
end

-- The addresses of a stack id; nil when there is no such stack. A stack keeps its id.
local function addresses(probe, id)
  if id < 0 then return nil end
  local known = probe.lists[id]
  if known == nil then
    known, probe.cut[id] = probe.run:stack(id)
    probe.lists[id] = known or false
  end
  return known or nil, probe.cut[id]
end

-- Which of the probed functions a frame is in, or -1.
local function function_id(probe, frame)
  if probe.by_place == nil then
    probe.by_place = {}
    for _, func in ipairs(probe.functions) do
      if func.kind == "user" then
        probe.by_place[("%s %d"):format(func.binary, func.address)] = func.id
      elseif func.kind == "kernel" then
        probe.by_place[func.address] = func.id
      end
    end
  end
  if frame.type == "kernel" then return frame.start and probe.by_place[frame.start] or -1 end
  return frame.start and probe.by_place[("%s %d"):format(frame.file, frame.start)] or -1
end

-- The frames of a process's stage, or of the kernel when there is none, by address.
-- Addresses above the innermost one are where calls return to: the call is before
-- that, so these have other frames.
local function known_frames(probe, seen, is_caller)
  local of <const> = seen or probe
  of.frames = of.frames or { {}, {} }
  return of.frames[is_caller and 2 or 1]
end

local function keep(probe, seen, address, is_caller, frame)
  -- Of a method that the runtime names only its name is known.
  if is_caller and frame.start then frame.offset = frame.offset + 1 end
  frame.address, frame.function_id = address, function_id(probe, frame)
  -- Of several names of one place the report has that which was asked for.
  local func <const> = probe.functions[frame.function_id + 1]
  if func and func.kind == "kernel" then frame.name = func.name end
  known_frames(probe, seen, is_caller)[address] = frame
  return frame
end

local function resolved(probe, seen, kind, address, is_caller)
  local at <const> = is_caller and address - 1 or address
  if kind == "kernel" then
    return known_frames(probe, nil, is_caller)[address]
      or keep(probe, nil, address, is_caller, probe.resolver:kernel(at))
  end
  if seen == nil then
    local frame <const> = probe.resolver:user(nil, at)
    frame.address, frame.function_id = address, -1
    return frame
  end
  return known_frames(probe, seen, is_caller)[address]
    or keep(probe, seen, address, is_caller, probe.resolver:user(seen, at))
end

-- A process that had the function at the same address: where addresses are drawn
-- by lot that is its parent, whose mappings a child has too.
local function parent_of(probe, func, address)
  for stage in probe.seen:all() do
    local mapping <const> = not stage.is_guess and processes.mapping_of(stage, address)
    if mapping and mapping.path:gsub(" %(deleted%)$", "") == stage.program
        and address - mapping.from + mapping.offset == func.offset then
      return stage
    end
  end
end

-- What a process that nobody could look at had mapped: its parent's, or of the
-- probed file alone, where its function is at a known place.
local function guess(probe, func, pid, address)
  local stage = parent_of(probe, func, address)
  if stage == nil then
    local start <const> = address - func.offset
    stage = { pid = pid, root = "", inner_pid = pid, is_guess = true, mappings = {
      { from = start, to = start + (1 << 30), offset = 0, path = func.binary, file = "guess",
        open = func.attach_path } } }
  end
  probe.seen:guess(pid, stage)
  return stage
end

-- What the process was when the stack was taken.
local function stage_of(probe, row, func, list, cut)
  local asked <const> = func.kind == "user" and not cut and list[1] ~= nil and func or nil
  local stage <const> = probe.seen:at(row.pid, list, asked)
  if stage or asked == nil then return stage end
  return guess(probe, func, row.pid, list[1])
end

-- Of most stacks one side is empty.
local NO_FRAMES <const> = {}

-- Also the process's stage in which the stack was taken.
local function user_frames(probe, row, func)
  local list <const>, cut = addresses(probe, row.user)
  if list == nil then return NO_FRAMES end
  -- As long as it will be, so that it need not grow.
  local result, n, first = { table.unpack(list) }, 0, 1
  local stage <const> = stage_of(probe, row, func, list, cut)
  if func.kind == "user" then
    result[1], n = own_frame(func), 1
    if not cut then first = 2 end
    local there <const> = list[first] == row.caller and user.is_known_entry(func)
    if row.caller ~= 0 and not there then
      result[2], n = resolved(probe, stage, "user", row.caller, true), 2
    end
  end
  for i = first, #list do
    n = n + 1
    result[n] = resolved(probe, stage, "user", list[i], n > 1)
  end
  return result, stage
end

local function kernel_frames(probe, row, func)
  local list <const> = addresses(probe, row.kernel) or NO_FRAMES
  if #list == 0 and func.kind == "user" then return NO_FRAMES end
  local result = {}
  if func.kind == "tracepoint" then result[1] = own_frame(func) end
  for i, address in ipairs(list) do
    result[#result + 1] = resolved(probe, nil, "kernel", address, i > 1)
  end
  if func.kind == "kernel" then
    local first <const> = result[1]
    if first == nil or first.function_id ~= func.id then
      table.insert(result, 1, own_frame(func))
    end
  end
  return result
end

-- What addresses are called that lie in files, as far as that is known already.
local function prepare_user(probe, row, func)
  local list <const>, cut = addresses(probe, row.user)
  if list == nil then return end
  local asked <const> = func.kind == "user" and not cut and list[1] ~= nil and func or nil
  local stage <const> = probe.seen:at(row.pid, list, asked)
  if stage == nil then return end
  local known <const> = known_frames(probe, stage, true)
  local function name(address)
    if known[address] then return end
    local frame <const> = probe.resolver:in_file(stage, address - 1)
    if frame then keep(probe, stage, address, true, frame) end
  end
  if row.caller ~= 0 then name(row.caller) end
  for i = 2, #list do name(list[i]) end
end

--- Reads stacks and looks up names while probes run, so that the report has little left
-- to do: stacks and names of files' code stay what they are.
-- @tparam Probe probe
-- @tparam {table,...} rows of stacks
-- @tparam number cpu seconds of processor time after which the rest is left for later
function frames.prepare(probe, rows, cpu)
  local over <const>, ready <const> = os.clock() + cpu, probe.prepared
  for _, row in ipairs(rows) do
    local key <const> = row.pid << 32 | row.user & 0xffffffff
    if not ready[key] then
      ready[key] = true
      prepare_user(probe, row, probe.functions[row.id + 1])
      kernel_frames(probe, row, probe.functions[row.id + 1])
      if os.clock() > over then return end
    end
  end
end

--- The frames of a row of stacks.
-- @tparam Probe probe
-- @tparam table row `id user kernel pid caller`
-- @treturn {table,...} frames of the process, innermost first: `type name
--   function_id` (-1 when it was not probed) `offset address file`
-- @treturn {table,...} frames of the kernel
-- @treturn ?table what the process was then, as of `sonde.probe.processes.look`
function frames.of(probe, row)
  local func <const> = probe.functions[row.id + 1]
  local user_side <const>, stage <const> = user_frames(probe, row, func)
  return user_side, kernel_frames(probe, row, func), stage
end

return frames
