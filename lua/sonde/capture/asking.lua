--- Questions to a store before they are in its form.
-- @module sonde.capture.asking
local asking = {}

-- The kind that somebody means who names none: the first that is there.
local PREFERRED <const> = { "goprof", "stacks", "nettrace", "process_tree" }

--- A copy of the options of a question, to be changed.
-- @tparam ?table opts
-- @treturn table
function asking.copy(opts)
  local copy = {}
  for name, value in pairs(opts or {}) do copy[name] = value end
  return copy
end

--- A question in its form, with a kind.
-- @tparam Store store
-- @tparam ?table opts
-- @treturn ?table of `Store:query`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function asking.asked(store, opts)
  local wanted <const> = asking.copy(opts)
  local kinds <const> = store:kinds()
  local has = {}
  for _, kind in ipairs(kinds) do has[kind] = true end
  for _, kind in ipairs(PREFERRED) do
    if has[kind] then wanted.kind = wanted.kind or kind end
  end
  wanted.kind = wanted.kind or kinds[1]
  if wanted.kind == nil then
    return nil, store.name .. ": the store has no records yet", "no_samples",
      "sonde capture --help"
  end
  return store:query(wanted)
end

return asking
