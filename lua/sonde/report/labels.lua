--- The labels of samples as reports print them. A number without a unit is
-- measured in what pprof infers for its key: the unit that another sample
-- gives it, bytes for sizes of requests, else no unit.
-- @module sonde.report.labels
local units <const> = require "sonde.base.units"

local labels = {}

local INFERRED <const> = { alignment = "bytes", request = "bytes", bytes = "bytes" }

-- The mark of a difference's base is ours and pprof's, no label of anybody.
labels.BASE = "pprof::base"

--- The unit of the numbers of each key.
-- @param profile
-- @tparam {table,...} rows as of `profile:label_rows`
-- @treturn table key to unit
function labels.units(profile, rows)
  local found, seen = {}, {}
  for _, _, _, set in profile:samples() do
    if not seen[set] then
      seen[set] = true
      for _, label in ipairs(rows[set]) do
        local key <const> = label.key
        if label.unit and label.unit ~= "" and found[key] == nil then found[key] = label.unit end
      end
    end
  end
  return setmetatable(found, { __index = function(_, key) return INFERRED[key] or key end })
end

--- The unit of one number: its own. (pprof takes the unit that a key was seen with
-- first for all of them, and shows 3000us as 3s beside 5ms.)
-- @tparam table label
-- @tparam table unit_of what `labels.units` found
-- @treturn string
function labels.unit(label, unit_of)
  return label.unit ~= "" and label.unit or unit_of[label.key]
end

--- A number of a label as text: "60", "16kB".
-- @tparam integer value
-- @tparam string unit
-- @tparam ?string out unit to print in
-- @treturn string
function labels.number(value, unit, out)
  local words <const> = units.value(value, unit, out)
  if units.family(unit) or words == "0" then return words end
  return words:sub(1, #words - (units.auto(unit, value) ~= "" and #unit or 0))
end

--- The labels of a set by key: texts and numbers apart, each in the set's
-- order.
-- @tparam {table,...} row of `profile:label_rows`
-- @treturn table key to list of texts
-- @treturn table key to list of `{ value, unit }`
function labels.split(row)
  local texts, numbers = {}, {}
  for _, label in ipairs(row) do
    local map <const> = label.unit and numbers or texts
    local list <const> = map[label.key] or {}
    map[label.key] = list
    list[#list + 1] = label.unit and label or label.value
  end
  return texts, numbers
end

--- Keys of a map in order.
-- @tparam table map
-- @treturn {string,...}
function labels.sorted(map)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

return labels
