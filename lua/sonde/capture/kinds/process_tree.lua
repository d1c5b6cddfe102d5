--- The kind `process_tree`: the tree itself, one record for each process.
-- @module sonde.capture.kinds.process_tree
local proc <const> = require "sonde.process.proc"
local usage <const> = require "sonde.process.usage"

local process_tree = { name = "process_tree", summary = "the processes, and what each uses",
  formats = { "text", "jsonl" }, of_tree = true }

local STATES <const> = { R = "running", S = "sleeping", D = "waiting for a device", T = "stopped",
  t = "stopped", Z = "exited" }

local function names_of(rows)
  local names = {}
  for _, row in ipairs(rows) do
    if row.available then names[#names + 1] = row.name end
  end
  return names
end

local function record_of(context, row)
  local stat <const> = proc.stat(row.pid)
  if stat == nil then
    return { key = row.key, pid = row.pid, depth = row.depth, name = row.name, state = "exited" }
  end
  local status <const>, memory <const> = proc.status(row.pid), usage.memory(row.pid)
  return {
    key = row.key, pid = row.pid, parent_pid = stat.parent, depth = row.depth, name = stat.name,
    command_line = table.concat(proc.command_line(row.pid) or {}, " "),
    user = status and proc.user(status.uid), state = STATES[stat.state] or stat.state,
    started_at = proc.started_at(stat.start_time) * 1000000000,
    cpu_time_ns = stat.cpu_ns, memory_bytes = memory and memory.resident, threads = stat.threads,
    transports = names_of(context.transports:of(row.pid)),
  }
end

--- Takes the tree.
-- @tparam table context `rows` of the tree
-- @treturn {table,...} parts
function process_tree.take(context)
  local records = {}
  for i, row in ipairs(context.rows) do records[i] = record_of(context, row) end
  for _, row in ipairs(context.ended) do
    records[#records + 1] = { key = row.key, pid = row.pid, depth = row.depth, name = row.name,
      state = "exited" }
  end
  return { { kind = "process_tree", records = records } }
end

return process_tree
