--- The fields of records, by kind: the same in Lua, in JSON and in stores.
-- A field is a table:
--
--    { name = "state",        -- in records, options and columns
--      type = "string",       -- see below
--      at = "record",         -- or "part": the same for all records of a part;
--                             -- or "checkpoint"
--      filter = "terms",      -- exact, terms (any of several), range, none
--      sort = true,           -- results may be sorted by it
--      help = "what a goroutine waits for" }
--
-- Types: `string`, `integer` (64 bits), `boolean`, `frames` (list of `{ func, file,
-- line }`, innermost first), `frame` (one of these), `json` (a table of strings,
-- numbers and tables), `text` (long, kept packed), `hash` (of the record's frames,
-- never written).
--
-- A kind of a user's own registers its fields before it writes; the store keeps
-- the declaration, so its records can be read without the kind.
-- @module sonde.capture.fields
local fields = {}

local function with_common(at, list)
  local all = {
    { name = "checkpoint_id", type = "string", at = "checkpoint", filter = "exact",
      help = "the checkpoint that the record belongs to" },
    { name = "taken_at", type = "integer", at = "checkpoint", filter = "range", sort = true,
      help = "nanoseconds since 1970" },
    { name = "reason", type = "string", at = "checkpoint", filter = "terms",
      help = "why the checkpoint was made: manual, periodic, timeout, a policy" },
    { name = "key", type = "string", at = "part", filter = "exact",
      help = "the process: pid:start_time" },
    { name = "pid", type = "integer", at = "part", filter = "terms", help = "process id" },
    { name = "error", type = "string", at = at, filter = "terms",
      help = "why there is no more than this" },
    { name = "truncated", type = "boolean", at = at, filter = "exact",
      help = "something of it was cut off" },
  }
  return table.move(list, 1, #list, #all + 1, all)
end

local STACKS <const> = with_common("record", {
  { name = "transport", type = "string", at = "part", filter = "terms",
    help = "how the dump was taken: inprocess, native, pprof, gops, eventpipe, sigquit" },
  { name = "format", type = "string", at = "part", filter = "terms",
    help = "go, native, dotnet, lua" },
  { name = "goroutine_id", type = "integer", at = "record", filter = "terms", sort = true,
    help = "number of the goroutine" },
  { name = "thread_id", type = "integer", at = "record", filter = "terms", sort = true,
    help = "number of the thread" },
  { name = "thread_name", type = "string", at = "record", filter = "terms",
    help = "name of the thread" },
  { name = "state", type = "string", at = "record", filter = "terms",
    help = "what it does or waits for" },
  { name = "wait_minutes", type = "integer", at = "record", filter = "range", sort = true,
    help = "how long it has waited, in minutes" },
  { name = "locked_to_thread", type = "boolean", at = "record", filter = "exact",
    help = "the goroutine is locked to its thread" },
  { name = "frames", type = "frames", at = "record", filter = "none",
    help = "the stack, innermost first" },
  { name = "stack_hash", type = "hash", at = "record", filter = "exact",
    help = "the first 16 hex digits of SHA-256 over the frames" },
  { name = "created_by", type = "frame", at = "record", filter = "none",
    help = "the function that started the goroutine" },
  { name = "creator_id", type = "integer", at = "record", filter = "terms",
    help = "the goroutine that started it" },
  { name = "labels", type = "json", at = "record", filter = "none", help = "its labels" },
  { name = "count", type = "integer", at = "record", filter = "range", sort = true,
    help = "goroutines or threads that this record stands for" },
  { name = "raw", type = "text", at = "record", filter = "none",
    help = "the text as it came" },
})

local GOPROF <const> = with_common("part", {
  { name = "source", type = "string", at = "part", filter = "terms", help = "pprof, gops, file" },
  { name = "profile", type = "string", at = "part", filter = "terms",
    help = "cpu, heap, allocs, mutex, block, goroutine" },
  { name = "sample_type", type = "string", at = "part", filter = "terms",
    help = "what the value measures, such as inuse_space" },
  { name = "unit", type = "string", at = "part", filter = "none", help = "unit of the value" },
  { name = "value", type = "integer", at = "record", filter = "range", sort = true,
    help = "what the stack holds of the sample type" },
  { name = "frames", type = "frames", at = "record", filter = "none",
    help = "the stack, innermost first" },
  { name = "stack_hash", type = "hash", at = "record", filter = "exact",
    help = "the first 16 hex digits of SHA-256 over the frames" },
})

local NETTRACE <const> = with_common("part", {
  { name = "session", type = "string", at = "part", filter = "exact",
    help = "the session that the segment belongs to" },
  { name = "segment", type = "integer", at = "record", filter = "range", sort = true,
    help = "place of the segment in its session, from 1" },
  { name = "path", type = "string", at = "record", filter = "exact",
    help = "file of the segment, beside the store unless absolute" },
  { name = "size", type = "integer", at = "record", filter = "range", sort = true,
    help = "bytes" },
  { name = "started_at", type = "integer", at = "record", filter = "range", sort = true,
    help = "when the segment begins, nanoseconds since 1970" },
  { name = "duration_ns", type = "integer", at = "record", filter = "range", sort = true,
    help = "time that the segment covers" },
  { name = "samples", type = "integer", at = "record", filter = "range", sort = true,
    help = "samples in it" },
  { name = "events", type = "integer", at = "record", filter = "range", sort = true,
    help = "events in it" },
  { name = "lost", type = "integer", at = "record", filter = "range", sort = true,
    help = "events that the runtime dropped" },
})

local PROCESS_TREE <const> = with_common("record", {
  { name = "parent_pid", type = "integer", at = "record", filter = "terms",
    help = "process id of its parent" },
  { name = "depth", type = "integer", at = "record", filter = "range", sort = true,
    help = "generations below the root" },
  { name = "name", type = "string", at = "record", filter = "terms",
    help = "name of the process" },
  { name = "command_line", type = "string", at = "record", filter = "terms",
    help = "its command line" },
  { name = "user", type = "string", at = "record", filter = "terms", help = "who runs it" },
  { name = "state", type = "string", at = "record", filter = "terms",
    help = "running, sleeping, exited …" },
  { name = "started_at", type = "integer", at = "record", filter = "range", sort = true,
    help = "when it was started, nanoseconds since 1970" },
  { name = "cpu_time_ns", type = "integer", at = "record", filter = "range", sort = true,
    help = "processor time since its start" },
  { name = "memory_bytes", type = "integer", at = "record", filter = "range", sort = true,
    help = "resident memory" },
  { name = "threads", type = "integer", at = "record", filter = "range", sort = true,
    help = "number of threads" },
  { name = "transports", type = "json", at = "record", filter = "none",
    help = "ways to take its stacks" },
})

-- Processes of a tree are told apart by the record, not by the part.
for _, field in ipairs(PROCESS_TREE) do
  if field.name == "key" or field.name == "pid" then field.at = "record" end
end

local kinds <const> = {}

local TYPES <const> = {
  string = true, integer = true, boolean = true, frames = true, frame = true, json = true,
  text = true, hash = true,
}

local function check_field(field)
  if type(field.name) ~= "string" or not field.name:find("^%l[%l%d_]*$") or #field.name > 40 then
    return "a field's name is made of small letters, digits and _"
  end
  if not TYPES[field.type] then return ("field '%s' has no known type"):format(field.name) end
  if field.at ~= "record" and field.at ~= "part" and field.at ~= "checkpoint" then
    return ("field '%s' is at a record, a part or a checkpoint"):format(field.name)
  end
end

--- Checks a declaration; one can come from a store, so nothing is believed.
-- @tparam string name of the kind
-- @tparam table list its fields
-- @treturn ?string what is wrong; nil when nothing is
function fields.check(name, list)
  if type(name) ~= "string" or not name:find("^%l[%l%d_]*$") or #name > 40 then
    return "a kind's name is made of small letters, digits and _"
  end
  if type(list) ~= "table" or #list > 60 then return "a kind has a list of up to 60 fields" end
  local seen = {}
  for _, field in ipairs(list) do
    local wrong <const> = type(field) ~= "table" and "a field is a table" or check_field(field)
    if wrong then return wrong end
    if seen[field.name] then return ("field '%s' is there twice"):format(field.name) end
    seen[field.name] = true
  end
end

--- Makes a kind's fields known. Raises when the declaration is wrong.
-- @tparam string name
-- @tparam {table,...} own its fields beyond those of all kinds
-- @treturn {table,...} all of its fields
function fields.register(name, own)
  local list <const> = with_common("record", own)
  local wrong <const> = fields.check(name, list)
  if wrong then error(("bad kind '%s': %s"):format(tostring(name), wrong), 2) end
  kinds[name] = list
  return list
end

--- The fields of a kind, those of all kinds first.
-- @tparam string name
-- @treturn ?{table,...} nil for a kind that nobody registered
function fields.of(name)
  return kinds[name]
end

--- A field by name.
-- @tparam {table,...} list
-- @tparam string name
-- @treturn ?table
function fields.find(list, name)
  for _, field in ipairs(list) do
    if field.name == name then return field end
  end
end

--- The names of fields, in their order: that of JSON too.
-- @tparam {table,...} list
-- @treturn {string,...}
function fields.names(list)
  local names = {}
  for i, field in ipairs(list) do names[i] = field.name end
  return names
end

kinds.stacks, kinds.goprof, kinds.nettrace, kinds.process_tree =
  STACKS, GOPROF, NETTRACE, PROCESS_TREE

return fields
