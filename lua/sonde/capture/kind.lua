--- Kinds: what a capture records. A kind is a Lua file that returns a table:
--
--    return {
--      name = "stacks", summary = "one line",
--      fields = { … },          -- of its records, for a kind of a user's own
--      params = { … },          -- declared options of a checkpoint
--      check = function(params) return message end,       -- what options cannot say
--      offers = function(process) return true end,        -- has it something of a process?
--      takes = function(params) return ns end,            -- time of the work itself
--      take = function(context, process, params) return parts end,
--      formats = { "text", "jsonl" },                     -- of an export
--    }
--
-- `take` returns parts for a store (see `sonde.capture.store`), or nil, message, code.
-- The files of users are `kinds/NAME.lua` in sonde's directory of settings.
-- @module sonde.capture.kind
local errors <const> = require "sonde.base.errors"
local fields <const> = require "sonde.capture.fields"
local options <const> = require "sonde.base.options"
local settings <const> = require "sonde.base.settings"

local kind = {}

--- The names of those that come with sonde.
kind.NAMES = { "stacks", "goprof", "nettrace", "process_tree" }

--- What a checkpoint of every kind takes.
kind.common = {
  { name = "kind", type = "string", help = "which kind" },
  { name = "key", type = "string", help = "the process, as pid:start_time" },
  { name = "pid", type = "integer", min = 1, help = "the process, by its id" },
  { name = "tree", type = "boolean", help = "all processes of the tree" },
  { name = "reason", type = "string", default = "manual", help = "why: recorded with it" },
  { name = "timeout", type = "duration", default = 30000000000, default_text = "30s", min = 1,
    help = "how long the checkpoint may take, beyond the time of a profile or trace" },
}

-- Kinds that somebody registered or that were loaded.
local registered <const> = {}

local function shipped(name)
  for _, known in ipairs(kind.NAMES) do
    if known == name then return require("sonde.capture.kinds." .. name) end
  end
end

-- What can be a kind's name, in a store too.
local function is_name(name)
  return name:find "^%l[%l%d_]*$" ~= nil
end

--- The names of all kinds: those that come with sonde, and the user's own.
-- @treturn {string,...}
function kind.all()
  local own = {}
  for _, name in ipairs(settings.lua_names(settings.path "kinds")) do
    if is_name(name) and not shipped(name) then own[#own + 1] = name end
  end
  return table.move(own, 1, #own, #kind.NAMES + 1, table.move(kind.NAMES, 1, #kind.NAMES, 1, {}))
end

local function load_own(name)
  local path <const> = is_name(name) and settings.lua_file("kinds", name)
  if not path then return nil end
  local chunk <const>, message <const> = loadfile(path, "t")
  if chunk == nil then return nil, message, "malformed" end
  local done <const>, module <const> = errors.pcall(chunk)
  if not done or type(module) ~= "table" or type(module.take) ~= "function" then
    return nil, ("%s: %s"):format(path, done and "does not return a kind" or tostring(module)),
      "malformed"
  end
  module.name = name
  return kind.register(module)
end

--- Makes a kind known.
-- @tparam table module see above
-- @treturn table the same
function kind.register(module)
  if fields.of(module.name) == nil then fields.register(module.name, module.fields or {}) end
  registered[module.name] = module
  return module
end

--- A kind by name.
-- @tparam string name
-- @treturn ?table
-- @treturn ?string message
-- @treturn ?string code `not_found` or `malformed`
function kind.get(name)
  local module <const> = registered[name] or shipped(name)
  if module then return module end
  local own, message, code = load_own(name)
  if own or message then return own, message, code end
  local near <const> = options.suggest(name, kind.all())
  return nil, ("no kind is called '%s'%s"):format(name,
    near and (" (did you mean '%s'?)"):format(near) or ""), "not_found"
end

--- Checks what a checkpoint is given.
-- @tparam table module the kind
-- @tparam ?table params
-- @treturn ?table checked, with defaults
-- @treturn ?string message
-- @treturn ?string code `malformed`
function kind.validate(module, params)
  local declared <const> = options.join(kind.common, module.params or {})
  local done <const>, checked <const> = errors.pcall(options.check, declared, params,
    "checkpoint of " .. module.name)
  if not done then return nil, (tostring(checked):gsub("^.-:%d+: ", "")), "malformed" end
  local wrong <const> = module.check and module.check(checked)
  if wrong then return nil, wrong, "malformed" end
  return checked
end

return kind
