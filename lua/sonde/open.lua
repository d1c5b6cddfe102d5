--- Opens any input: finds out what it is and decodes it.
-- @module sonde.open
local core <const> = require "sonde.c.core"
local files <const> = require "sonde.base.files"
local input <const> = require "sonde.base.input"
local options <const> = require "sonde.base.options"
local symbols <const> = require "sonde.symbols"
local url <const> = require "sonde.base.url"

local open = {}

--- Options of `sonde.open`.
open.options = options.join({
  { name = "limit", type = "size", default = 2 << 30, default_text = "2GiB", min = 1 << 20,
    help = "most memory that decoding may use" },
  { name = "from", type = "duration",
    help = "leave out what was before this time since the trace began" },
  { name = "to", type = "duration",
    help = "leave out what was after this time since the trace began" },
  { name = "timeline", type = "boolean",
    help = "keep the order of the samples, for outputs in time order" },
  { name = "runs", type = "boolean",
    help = "with `timeline`, what a thread does on one stack without a break is one sample" },
  { name = "view", type = "string",
    help = "the view that will be asked for first: other kinds of events are passed over" },
  { name = "lenient", type = "boolean",
    help = "of a damaged profile, leave out what is damaged and read the rest" },
  { name = "store", type = "table",
    help = "of a store of captures: which records, and their view; see Store:profile" },
  { name = "progress", type = "function",
    help = "called now and then with the bytes taken so far and the size, when known" },
  symbols.option,
  { name = "note", type = "function",
    help = "called with a text about what is worth knowing and no damage" },
}, require "sonde.golang.take", require "sonde.base.connection")

-- Of the options those that say how a running process is asked.
local TAKEN_BY <const> = { "duration", "delta", "gc", "header", "ca", "insecure" }

-- Takes what an address gives; all other sources stay as they are. Beside it come
-- a message and code when it is incomplete.
local function locate(from, opts, more)
  if type(from) ~= "string" or not url.is(from) then return from end
  local wanted <const> = more or { view = opts.view }
  for _, name in ipairs(TAKEN_BY) do wanted[name] = opts[name] end
  return require("sonde.golang.live").of_url(from, wanted)
end

-- A sample type that the view chose becomes the profile's own choice.
local function prefer(profile, taken)
  profile:set_name(taken.name)
  for i, kind in ipairs(taken.sample_type and profile:types() or {}) do
    if kind.type == taken.sample_type then profile:set_info { default_type = i } end
  end
end

local function need_no_times(source, opts)
  if opts.from == nil and opts.to == nil then return true end
  return source:fail("a profile has no times to cut by (from, to)", "unavailable")
end

-- Beginnings and parts of warnings that tell of data that is not in the profile, or
-- not as it was.
local LOST <const> = { "^lost: ", "were appended to one file", "^line %d+ is skipped: ",
  "^%d+ more lines are skipped", "do not fit 64 bits" }

-- Of these reports say themselves what they do.
local SAID_BY_REPORTS <const> = "^default_sample_type "

local function is_loss(warning)
  for _, pattern in ipairs(LOST) do
    if warning:find(pattern) then return true end
  end
  return false
end

-- What is lost, as a text; what is only worth knowing is noted.
local function losses(profile, source, opts)
  local lost = {}
  for _, warning in ipairs(profile:info().warnings) do
    if is_loss(warning) then
      lost[#lost + 1] = warning
    elseif opts.note and not warning:find(SAID_BY_REPORTS) then
      opts.note(source.name .. ": " .. warning)
    end
  end
  local unused <const> = opts.note and require("sonde.filter").drop_problem(profile)
  if unused then opts.note(source.name .. ": no frames are dropped: " .. unused) end
  if #lost > 0 then return table.concat(lost, "; ") end
end

-- Profiles are small: a program writes at most some megabytes of one.
local function read_profile(decode)
  return function(source, opts)
    local fits, why, reason = need_no_times(source, opts)
    if not fits then return nil, why, reason end
    local bytes, cut, cut_code = files.read_all(source.input, opts.limit)
    if bytes == nil then return source:fail(cut, cut_code) end
    local profile, message, code = decode(bytes, { limit = opts.limit })
    if profile == nil then return source:fail(cut or message, cut_code or code) end
    if source.path then profile:set_name(source.path) end
    if message then return profile, source.name .. ": " .. message, code end
    local lost <const> = losses(profile, source, opts)
    if lost then return profile, source.name .. ": " .. lost, "malformed" end
    return profile, cut, cut_code
  end
end

-- Addresses without names get them from the programs, when these are here.
local function named(profile, opts)
  if opts.symbolize == "none" then return profile end
  local result <const>, refused <const> = symbols.annotate(profile)
  for _, why in ipairs(refused) do
    if opts.note then opts.note("no names from " .. why) end
  end
  return result
end

-- A file with several profiles in it is their sum; of a damaged one the rest,
-- when that was asked for.
local function read_pprof(source, opts)
  local fits, why, reason = need_no_times(source, opts)
  if not fits then return nil, why, reason end
  local profile, message, code = core.pprof_read(source.input,
    { limit = opts.limit, lenient = opts.lenient })
  if profile == nil then return source:fail(message, code) end
  local lost <const> = losses(profile, source, opts)
  profile = named(profile, opts)
  if source.path then profile:set_name(source.path) end
  if lost then return profile, source.name .. ": " .. lost, "malformed" end
  return profile
end

local READERS <const> = {
  nettrace = function(source, opts) return require("sonde.dotnet.trace").read(source, opts) end,
  pprof = read_pprof,
  sqlite = function(source, opts) return require("sonde.reader.store").read(source, opts) end,
  folded = read_profile(function(bytes, limits) return core.folded_decode(bytes, limits) end),
}

-- Formats that Lua reads, each by the module of its name.
for _, kind in ipairs { "legacy", "perf_script", "cpu_words", "speedscope", "cpuprofile" } do
  READERS[kind] = read_profile(function(bytes)
    return require("sonde.reader." .. kind).read(bytes)
  end)
end

-- The message of a read, after what closing its source tells of unpacking.
local function told(source, object, message, code)
  local unpacked, why, reason = source:close()
  if unpacked or code == "limit" then return message or why, code end
  if getmetatable(object) and object.core then
    object.message, object.code, object.outside = why, reason, why
  end
  return why, reason
end

-- The modules that read a dump, by kind.
local DUMPS <const> = { goroutines = "sonde.golang.dump", native = "sonde.process.native" }

-- Logs that hold a dump somewhere look like many things.
local MAYBE_DUMPS <const> = {
  text = true, unknown = true, folded = true, http = true, json = true,
}

-- Opens the text of a dump: the source, and the module that reads it.
local function open_dump(from, others)
  local source, message, code = input.open(from)
  if source == nil then return nil, message, code end
  local kind, why, reason, hint = source:kind(others)
  local module <const> = DUMPS[kind] or others and others[kind] and DUMPS.goroutines
  if module then return source, require(module) end
  source:close()
  if kind == nil then return nil, why, reason, hint end
  return nil, source.name .. ": not a dump", "unavailable", "sonde " .. source.name
end

-- How a text is read once more; nil when it cannot be.
local function reopener(source, limit)
  local from = source.path
  if source.bytes then from = { bytes = source.bytes, name = source.name } end
  if from == nil then return nil end
  return function() return open.dump_stream(from, { limit = limit }) end
end

for kind, module in pairs(DUMPS) do
  READERS[kind] = function(source, opts)
    local fits, why, reason = need_no_times(source, opts)
    if not fits then return nil, why, reason end
    return require(module).read(source, {
      limit = opts.limit, progress = opts.progress, rows = true,
      reopen = reopener(source, opts.limit),
    })
  end
end

--- Opens a dump, also one inside a log that does not look like a dump.
-- @param from as for `sonde.open`
-- @tparam ?table opts `limit` (bytes), `rows` (boolean: keep a row for each
--   goroutine, for `Dump:diff`)
-- @treturn ?Dump
-- @treturn ?string message; beside a dump it says what is missing in it
-- @treturn ?string code
-- @treturn ?string hint
function open.dump(from, opts)
  local located, short, why, help = locate(from, opts or {}, { dump = true })
  if located == nil then return nil, short, why, help end
  local source, module, code, hint = open_dump(located, MAYBE_DUMPS)
  if source == nil then return nil, module, code, hint end
  local object, message
  object, message, code, hint = module.read(source, {
    limit = opts and opts.limit, rows = opts ~= nil and opts.rows == true,
    reopen = reopener(source, opts and opts.limit),
  })
  message, code = told(source, object, message, code)
  return object, message or short, code or why, hint
end

--- Opens a dump to read its goroutines or threads one by one.
-- @param from as for `sonde.open`
-- @tparam ?table opts `limit` (bytes)
-- @treturn ?Stream see `sonde.dump`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function open.dump_stream(from, opts)
  local located, short, why, help = locate(from, opts or {}, { dump = true })
  if located == nil then return nil, short, why, help end
  local source, module, code, hint = open_dump(located, MAYBE_DUMPS)
  if source == nil then return nil, module, code, hint end
  return module.stream(source, { limit = opts and opts.limit })
end

--- Opens a trace, a profile or a dump; its content says which.
-- NetTrace and .netperf give a Trace, pprof and folded stacks a Profile, text of
-- goroutines and of native stacks a Dump; gzip, xz and zip around them are opened
-- too.
-- @param from a path, a URL (of a file, of net/http/pprof or of one profile there,
--   of a store of captures: `clickhouse://HOST/DATABASE`),
--   "-" for standard input, a file handle, a descriptor's number, or
--   `{ bytes = string, name = string }`
-- @tparam ?table opts `limit` (bytes, or "512MB"), `from`, `to`, `timeline`, `runs`,
--   `view`, `progress`, and for running Go processes `duration delta gc`; see
--   `sonde.open.options`
-- @return Trace, Profile or Dump; nil when nothing could be read
-- @treturn ?string message; beside an object it says what is missing in it
-- @treturn ?string code
-- @treturn ?string hint what helps, when something is known to
function open.open(from, opts)
  opts = options.check(open.options, opts, "open")
  if type(from) == "string" and from:find("^clickhouse://") then
    return require("sonde.reader.store").read_server(from, opts)
  end
  local located, short, why, help = locate(from, opts)
  if located == nil then return nil, short, why, help end
  local source, message, code = input.open(located)
  if source == nil then return nil, message, code end
  local kind, hint
  kind, message, code, hint = source:kind()
  if kind == nil then
    source:close()
    return nil, message, code, hint
  end
  require "sonde.profile"
  local object
  object, message, code, hint = READERS[kind](source, opts)
  message, code = told(source, object, message, code)
  if object and kind == "pprof" and type(located) == "table" and located.is_profile then
    prefer(object, located)
  end
  return object, message or short, code or why, hint
end

return open
