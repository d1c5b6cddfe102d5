--- The reports by name and by file extension.
-- A report is a module of this folder; docs/architecture.md says what it
-- returns. Adding one is adding its file and its name here.
-- @module sonde.report
local files <const> = require "sonde.base.files"
local options <const> = require "sonde.base.options"
local rows_of <const> = require("sonde.base.rows").of
local sink <const> = require "sonde.report.sink"

local reports = {}

-- Looks through what is written to files; nil: nobody does.
local look_through

-- In the order in which help lists them. Modules are loaded on first use.
local NAMES <const> = {
  "top", "text", "tree", "peek", "calltree", "traces", "tags", "raw", "list", "comments", "diff",
  "svg", "html", "speedscope", "chromium", "folded", "pprof", "topproto", "dot", "callgrind",
  "json", "findings", "gc", "exceptions", "jit", "threads", "providers", "inspect",
}

-- What people call the objects that reports take.
local WORDS <const> = {
  profile = "profile", timeline = "timeline", trace = "trace",
  diff = "difference of two profiles", any = "trace or profile",
}

local known <const> = {}
for _, name in ipairs(NAMES) do known[name] = true end

--- Names of all reports.
-- @treturn {string,...}
function reports.names()
  return table.move(NAMES, 1, #NAMES, 1, {})
end

--- A report by its name.
-- @tparam string name
-- @treturn ?table the module
-- @treturn ?string message, with the name that was probably meant
-- @treturn ?string code `unknown_name`
function reports.get(name)
  if known[name] then return require("sonde.report." .. name) end
  local near <const> = options.suggest(tostring(name), NAMES)
  local hint <const> = near and (" (did you mean '%s'?)"):format(near)
    or ": the reports are " .. table.concat(NAMES, ", ")
  return nil, ("no report '%s'%s"):format(tostring(name), hint), "unknown_name"
end

--- All reports.
-- @treturn {table,...} modules with `name summary takes extensions options`
function reports.list()
  local list = {}
  for i, name in ipairs(NAMES) do list[i] = require("sonde.report." .. name) end
  return list
end

-- The extensions of all reports, as a sentence's end.
local function extensions()
  local words = {}
  for _, module in ipairs(reports.list()) do
    for _, extension in ipairs(module.extensions) do words[#words + 1] = "." .. extension end
  end
  return table.concat(words, " ")
end

--- The report that a file name chooses; the longest extension wins.
-- @tparam string path
-- @treturn ?table the module
-- @treturn table|string options that the extension implies, or a message
-- @treturn ?string code `unknown_name`
function reports.for_path(path)
  local lower <const> = path:lower()
  local best, longest
  for _, module in ipairs(reports.list()) do
    for _, extension in ipairs(module.extensions) do
      local ends <const> = lower:sub(-#extension - 1) == "." .. extension
      if ends and (best == nil or #extension > #longest) then
        best, longest = module, extension
      end
    end
  end
  if best then return best, best.presets and best.presets[longest] or {} end
  return nil, ("the name '%s' does not say the format: known are %s"):format(path,
    extensions()), "unknown_name"
end

--- Which object a report needs when it runs with these options.
-- @tparam table module
-- @tparam table opts its checked options
-- @treturn string "profile", "timeline", "trace", "diff" or "any" (what was
--   opened, a trace or a profile)
function reports.needs(module, opts)
  if module.needs then return module.needs(opts) end
  if module.takes == "profile" and opts.time_order then return "timeline" end
  return module.takes
end

-- The function of a module that writes an object of this kind.
local function writer_for(module, kind, opts)
  local needs <const> = reports.needs(module, opts)
  if kind == needs or needs == "any" and kind ~= "diff" then return module.write end
  if kind == "diff" and module.write_diff then return module.write_diff end
  if needs == "timeline" then
    return nil, ("%s in time order needs a timeline: only a trace has one"):format(module.name),
      "unavailable"
  end
  return nil, ("the report '%s' takes a %s, not a %s"):format(module.name, WORDS[needs],
    WORDS[kind]), "unavailable"
end

local function choose(given)
  if given.format then return reports.get(given.format) end
  if given.path and given.path ~= "-" then return reports.for_path(given.path) end
  return nil, "neither a format nor a file name says what to write", "unknown_name"
end

--- What a report shows of an object: of a profile not the frames that it
-- calls uninteresting itself, unless the report is a format that keeps all.
-- @param object
-- @tparam string kind
-- @tparam table module
-- @return the object
function reports.shown(object, kind, module)
  if kind ~= "profile" or module.keeps_all then return object end
  return object:interesting()
end

--- Has what objects write to files looked through first, from now on.
-- @tparam ?function check called with the bytes and the report's name; a file is
--   written when it returns true, else `write` gives what it returned
function reports.guard(check)
  look_through = check
end

-- The same writer, whose bytes are looked through before a file gets any.
local function guarded(write, module)
  if look_through == nil then return write end
  return function(object, opts, file)
    local out <const> = sink.collector()
    local done, message, code = write(object, opts, out)
    if not done then return nil, message, code end
    local bytes <const> = out:text()
    done, message, code = look_through(bytes, module.name)
    if not done then return nil, message, code end
    file:write(bytes)
    return true
  end
end

--- Writes an object, as its method `write` does.
-- @param object
-- @tparam string kind "profile", "timeline" or "diff"
-- @tparam string|table given a path, or `path out format` and the report's
--   options
-- @tparam string where the method's name, for messages
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function reports.write(object, kind, given, where)
  if type(given) == "string" then given = { path = given } end
  if type(given) ~= "table" then
    error(("bad argument to '%s' (path or options expected)"):format(where), 3)
  end
  local module, implied, code = choose(given)
  if module == nil then return nil, implied, code end
  local own = {}
  if type(implied) == "table" then
    for name, value in pairs(implied) do own[name] = value end
  end
  for name, value in pairs(given) do own[name] = value end
  local path <const>, out <const> = own.path, own.out
  own.path, own.out, own.format = nil, nil, nil
  local opts <const> = options.check(module.options, own, where)
  local write, message, why = writer_for(module, kind, opts)
  if write == nil then return nil, message, why end
  object, message, why = reports.shown(object, kind, module)
  if object == nil then return nil, message, why end
  if path == nil or path == "-" then return write(object, opts, out or io.stdout) end
  write = guarded(write, module)
  return files.write(path, function(file) return write(object, opts, file) end)
end

--- The text that `write` would write.
-- @param object
-- @tparam string kind
-- @tparam string format a report's name
-- @tparam ?table opts its options
-- @tparam string where
-- @treturn ?string
-- @treturn ?string message
-- @treturn ?string code
function reports.render(object, kind, format, opts, where)
  local out <const> = sink.collector()
  local given = {}
  for name, value in pairs(opts or {}) do given[name] = value end
  given.format, given.out = format, out
  local done, message, code = reports.write(object, kind, given, where)
  if not done then return nil, message, code end
  return out:text()
end

local function collected(following)
  local list = {}
  for row in following do
    row.schema = nil
    list[#list + 1] = row
  end
  return list
end

--- The rows of a report, which print as the report prints them.
-- @param object
-- @tparam string kind as of `render`
-- @tparam string name the report's
-- @tparam ?table given its options
-- @tparam string where for messages
-- @treturn ?Rows see `sonde.base.rows`
-- @treturn ?string message
-- @treturn ?string code `unavailable` for a report that has no rows
function reports.rows(object, kind, name, given, where)
  local module, message, code = reports.get(name)
  if module == nil then return nil, message, code end
  local opts <const> = options.check(module.options, given, where)
  local write
  write, message, code = writer_for(module, kind, opts)
  if write == nil then return nil, message, code end
  if module.rows == nil then
    return nil, ("the report '%s' has no rows"):format(name), "unavailable"
  end
  object, message, code = reports.shown(object, kind, module)
  if object == nil then return nil, message, code end
  local following
  following, message, code = module.rows(object, opts)
  if following == nil then return nil, message, code end
  return rows_of(collected(following), function()
    local out <const> = sink.collector()
    local done, why = write(object, opts, out)
    return done and out:text() or why
  end)
end

return reports
