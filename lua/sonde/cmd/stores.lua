--- What the verbs of stores share: the argument, opening, the question.
-- @module sonde.cmd.stores
local errors <const> = require "sonde.base.errors"
local fields <const> = require "sonde.capture.fields"
local options <const> = require "sonde.base.options"
local query <const> = require "sonde.capture.query"

local stores = {}

--- The argument that names a store.
stores.argument = { name = "store", optional = true,
  help = "a store of captures (SQLite file, or clickhouse://HOST/DATABASE);"
    .. " $SONDE_STORE or captures.db otherwise" }

local KINDS <const> = { "stacks", "goprof", "nettrace", "process_tree" }

--- The options that choose records of any kind that sonde ships; those of a user's
-- own kinds are named by `--where`.
-- @treturn {table,...} declared options
function stores.filters()
  local lists = {}
  for i, kind in ipairs(KINDS) do lists[i] = query.filters(fields.of(kind)) end
  return options.join(query.window, { query.order[1] }, table.unpack(lists))
end

--- The question that the options ask, for `Store:records` and its like.
-- @tparam table args
-- @tparam ?table but names of options that mean something else to this verb
-- @treturn table
function stores.question(args, but)
  local question = {}
  local function take(option)
    local value <const> = args[option.name]
    if not (but and but[option.name]) and (type(value) ~= "table" or #value > 0) then
      question[option.name] = value
    end
  end
  for _, option in ipairs(stores.filters()) do take(option) end
  for _, option in ipairs(query.order) do take(option) end
  return question
end

--- Opens the store that a command line means; ends the verb when it cannot be.
-- @tparam ?string name
-- @tparam table env
-- @tparam string mode "read" or "write"
-- @treturn Store
-- @treturn string its name
function stores.open(name, env, mode)
  name = name or env.getenv "SONDE_STORE" or "captures.db"
  -- A store that does not exist is made by who captures, not by who asks.
  if not name:find("^clickhouse://") and not require("sonde.c.core").path_info(name) then
    errors.raise { message = ("cannot open: %s: no such store"):format(name), code = "not_found",
      hint = "sonde capture --help" }
  end
  local store, message, code, hint = require("sonde.capture.store").open(name, { mode = mode })
  if store == nil then
    errors.raise { message = "cannot open: " .. message, code = code, hint = hint }
  end
  return store, name
end

return stores
