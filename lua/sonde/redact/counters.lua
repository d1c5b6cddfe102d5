--- Redacts rows of counters.
-- @module sonde.redact.counters
local redact <const> = require "sonde.redact"

local counters = {}

-- Values of tags are a program's data, whoever names the tag.
local function redact_tags(r, tags, is_known)
  local shown, words = {}, {}
  for key, value in pairs(tags) do
    local name <const> = is_known and r.words:keep_all(key) or r:label_key(key)
    shown[name] = r:label(tostring(value), "")
    words[#words + 1] = ("%s=%s"):format(name, shown[name])
  end
  table.sort(words)
  return shown, table.concat(words, ",")
end

-- Units of one or two letters (s, ms, By) name nothing.
local function redact_unit(r, unit, is_known)
  if is_known or #unit <= 2 then return unit end
  return r.words:replace_all(unit)
end

--- Redacts a row.
-- @tparam Redactor r
-- @tparam table row of `Counters:rows`
-- @treturn table a new one
function counters.row(r, row)
  local shown = {}
  for key, value in pairs(row) do shown[key] = value end
  local is_known <const> = redact.is_known_provider(row.provider)
  shown.provider = r:provider(row.provider)
  shown.name = r:provider(row.name, row.provider)
  if row.display_name then shown.display_name = r:provider(row.display_name, row.provider) end
  if row.unit then shown.unit = redact_unit(r, row.unit, is_known) end
  if row.tags and next(row.tags) then
    shown.tags, shown.tag_text = redact_tags(r, row.tags, is_known)
  elseif row.tag_text then
    shown.tag_text = r:text(row.tag_text)
  end
  return shown
end

--- What stands for counters where they are shown.
-- @tparam Redactor r
-- @param original Counters
-- @treturn table with `rows` and `target`
function counters.wrap(r, original)
  return {
    target = original.target,
    rows = function()
      local rows <const> = original:rows()
      for i, row in ipairs(rows) do rows[i] = counters.row(r, row) end
      return rows
    end,
  }
end

return counters
