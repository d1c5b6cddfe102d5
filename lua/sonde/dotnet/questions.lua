--- Questions that a Trace answers with what its core knows. They are methods of
-- Trace, which takes them from here: `core` is the userdata of `core.trace`,
-- `lists` a table of the object's own.
-- @module sonde.dotnet.questions
local rows_of <const> = require("sonde.base.rows").of

local Trace = {}

--- Facts of the stream's head: `version clock_frequency sync_ticks pointer_size
-- processors sampling_ns process_id wall_ns system_time pairs`.
-- @treturn table
function Trace:info() return self.core:info() end

--- Counts of the stream, and of what the runtime told; see `core`.
-- @treturn table
function Trace:counts() return self.core:counts() end

--- What could not be read or is doubtful: `severity offset text`.
-- @treturn Rows
function Trace:problems() return rows_of(self.core:problems()) end

--- Where events were lost: `thread process count from_ns to_ns`.
-- @treturn Rows
function Trace:losses() return rows_of(self.core:losses()) end

--- The threads: `id name process process_name samples managed wall_ns events
-- lost`.
-- @treturn Rows
function Trace:threads() return rows_of(self.core:threads()) end

--- The processes of a machine-wide trace: `id name inner_id from_ns to_ns`.
-- @treturn Rows
function Trace:processes() return rows_of(self.core:processes()) end

--- The types of events: `provider name id version level keywords count bytes
-- described`.
-- @treturn Rows
function Trace:types() return rows_of(self.core:types()) end

--- The method bodies: `start size namespace name signature method_id module_id
-- assembly tier rejit loaded_ns unloaded_ns`.
-- @treturn Rows
function Trace:methods() return rows_of(self.core:methods()) end

--- The modules: `id assembly_id il_path native_path flags`.
-- @treturn Rows
function Trace:modules() return rows_of(self.core:modules()) end

--- The full names of the assemblies by their ids.
-- @treturn table
function Trace:assemblies()
  local names = {}
  for _, row in ipairs(self.core:assemblies()) do names[row.id] = row.name end
  return names
end

--- The assembly's id of each module's id.
-- @treturn table
function Trace:module_assemblies()
  local ids = {}
  for _, row in ipairs(self.core:modules()) do ids[row.id] = row.assembly_id end
  return ids
end

--- What the runtime says of itself: `product version sku command_line path os
-- architecture`.
-- @treturn table
function Trace:runtime() return self.core:runtime() end

-- Long lists that several ask for are made once.
local function once(self, name)
  local known = self.lists[name]
  if known == nil then
    known = self.core[name](self.core)
    -- Sums are no records.
    if name ~= "gc_sums" then rows_of(known) end
    self.lists[name] = known
  end
  return known
end

--- The garbage collections: `number generation reason type start_ns end_ns
-- pause_ns pauses heap_bytes`. Everybody gets the same list: do not change it.
-- @treturn Rows
function Trace:gcs() return once(self, "gcs") end

--- The pauses that collections caused: `start_ns end_ns gc thread`. Everybody
-- gets the same list: do not change it.
-- @treturn Rows
function Trace:pauses() return once(self, "pauses") end

--- Sums over all collections, which cost the same for any number of them: a list of
-- `reason_code generation n pause_ns`, with `n`, `pauses` (how many), `pause_ns` and
-- `longest_ns` of all.
-- @treturn table
function Trace:gc_sums() return once(self, "gc_sums") end

--- Pauses for a picture: those that begin in the same piece of time are one.
-- @tparam integer most about how many there may be
-- @treturn Rows each `start_ns` (of the first), `pause_ns` (the sum), `n`
function Trace:pause_marks(most) return rows_of(self.core:pause_marks(most)) end

--- How the thread pool changed the number of its threads: `time_ns threads
-- reason` (the runtime's number).
-- @treturn Rows
function Trace:adjustments() return once(self, "adjustments") end

--- The heap after the last collection; nil when unknown.
-- @treturn ?table
function Trace:heap() return self.core:heap() end

--- The exceptions by type: `type count message hresult first_ns last_ns`.
-- @treturn Rows
function Trace:exceptions() return rows_of(self.core:exceptions()) end

--- Waits for contended locks: `count reported_ns between_ns longest_ns`.
-- @treturn table
function Trace:contention() return self.core:contention() end

--- The methods compiled while the trace ran: `namespace name signature time_ns
-- il_size native_size tier started finished first_ns`.
-- @treturn Rows
function Trace:jits() return rows_of(self.core:jits()) end

--- How the sampler worked: `passes period_ns gaps`.
-- @treturn table
function Trace:sampling() return self.core:sampling() end

--- What is wrong with the trace, the gravest first.
-- @treturn Rows each `severity text` and perhaps `try`
function Trace:advice() return rows_of(require("sonde.dotnet.advice").list(self)) end

return Trace
