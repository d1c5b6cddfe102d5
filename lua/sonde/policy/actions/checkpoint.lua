--- `{ checkpoint = { kind = "stacks" } }`: marks a checkpoint of a capture, whose
-- records are kept in a store and can be queried.
-- @module sonde.policy.actions.checkpoint
local kinds <const> = require "sonde.capture.kind"
local words <const> = require "sonde.policy.words"

local checkpoint = { short = "kind" }

local SECOND <const> = 1000000000

--- Fields.
checkpoint.fields = {
  { name = "kind", type = "string", default = "stacks",
    help = "stacks, goprof, nettrace, process_tree, or one of your own" },
  { name = "store", type = "path", default = "captures.db",
    help = "an SQLite file, in the folder of the policy's artifacts unless it begins with /,"
      .. " or clickhouse://HOST:PORT/DATABASE" },
  { name = "tree", type = "boolean", help = "also what the process started" },
  { name = "params", type = "table", help = "what the kind takes: { profile = { \"heap\" } }" },
  { name = "timeout", type = "duration", default = 60 * SECOND, min = 1, help = "how long" },
}

local function params_of(spec)
  local params = { tree = spec.tree, timeout = spec.timeout }
  for name, value in pairs(spec.params or {}) do params[name] = value end
  return params
end

--- Checks more than the fields: what the kind says of its own.
-- @tparam table spec
-- @tparam string where
-- @tparam table problems
function checkpoint.check(spec, where, problems)
  if type(spec.kind) ~= "string" then return end
  local module, message = kinds.get(spec.kind)
  if module == nil then return problems:add(where .. ".kind", message, spec.kind) end
  local checked
  checked, message = kinds.validate(module, params_of(spec))
  if checked == nil then problems:add(where .. ".params", message, "params") end
  if checked and checked.consent then
    problems:add(where .. ".params", "cannot give the consent to end a process", "consent")
  end
end

--- Says what it does.
-- @tparam table spec
-- @treturn string
function checkpoint.explain(spec)
  local module <const> = kinds.get(spec.kind)
  return ("keep %s%s in the store %s, within %s"):format(module and module.summary or spec.kind,
    spec.tree and " of it and of what it started" or "", spec.store, words.duration(spec.timeout))
end

--- What it costs.
-- @tparam table spec
-- @treturn table `duration_ns`
function checkpoint.cost(spec)
  return { duration_ns = spec.timeout }
end

local function size_of(path)
  local stat <const> = require("sonde.base.uv").fs_stat(path)
  return stat and stat.size or 0
end

-- Marks it and closes the capture, whatever happens.
local function mark(capture, spec, context)
  local params <const> = params_of(spec)
  params.kind, params.reason = spec.kind, context.values.policy
  local done, message, code = capture:checkpoint(params)
  local closed, why, reason = capture:close()
  if done == nil then return nil, message, code end
  if not closed then return nil, why, reason end
  if done.failed > 0 and done.failed == done.parts then return nil, done.error, "unavailable" end
  return done
end

--- Does it.
-- @tparam table spec
-- @tparam table context
-- @treturn ?table `capture checkpoint store`, of a file also `path bytes`
-- @treturn ?string message
-- @treturn ?string code
function checkpoint.run(spec, context)
  local is_file <const> = not spec.store:find "^%w+://"
  local store <const> = is_file and context.place(spec.store) or spec.store
  local before <const> = is_file and size_of(store) or 0
  local capture, message, code = require("sonde.capture").open { root = context.values.pid,
    store = store, service = context.values.name, kinds = { spec.kind } }
  if capture == nil then return nil, message, code end
  local done, why, reason = mark(capture, spec, context)
  if done == nil then return nil, why, reason end
  return { capture = capture.id, checkpoint = done.id, store = store,
    path = is_file and store or nil, bytes = is_file and math.max(0, size_of(store) - before) or 0 }
end

return checkpoint
