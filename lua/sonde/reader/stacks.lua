--- Sums equal stacks while a text is read, so that a recording of a million
-- samples makes a profile of its distinct stacks.
-- @module sonde.reader.stacks
local core <const> = require "sonde.c.core"

local stacks = {}

local Stacks <const> = {}
Stacks.__index = Stacks

--- Begins.
-- @treturn table with `add` and `profile`
function stacks.new()
  return setmetatable({ rows = {}, order = {} }, Stacks)
end

-- A text that is the same for the same labels.
local function key_of(labels)
  local keys = {}
  for key in pairs(labels or {}) do keys[#keys + 1] = key end
  table.sort(keys)
  for i, key in ipairs(keys) do keys[i] = key .. "\1" .. tostring(labels[key]) end
  return table.concat(keys, "\2")
end

--- Adds a sample.
-- @tparam {table,...} stack frames as of `profile:add`, innermost first
-- @tparam string key a text that is the same for the same stack
-- @tparam {integer,...} values one for each sample type; missing ones are 0
-- @tparam ?table labels
function Stacks:add(stack, key, values, labels)
  key = key .. "\0" .. key_of(labels)
  local row = self.rows[key]
  if row == nil then
    row = { stack = stack, labels = labels, values = {} }
    self.rows[key] = row
    self.order[#self.order + 1] = row
  end
  for i, value in pairs(values) do row.values[i] = (row.values[i] or 0) + value end
end

--- The profile.
-- @tparam {table,...} types sample types `{ type, unit }`
-- @tparam ?string default name of one
-- @tparam ?{table,...} mappings of `core.profile_new`
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code
function Stacks:profile(types, default, mappings)
  local profile <const> = core.profile_new { types = types, default = default,
    mappings = mappings }
  for _, row in ipairs(self.order) do
    for i = 1, #types do row.values[i] = row.values[i] or 0 end
    local added, message, code = profile:add(row.stack, row.values, row.labels)
    if not added then return nil, message, code end
  end
  return profile
end

return stacks
