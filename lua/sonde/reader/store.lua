--- Reads a window of a store of captures as one profile.
-- @module sonde.reader.store
local reader = {}

--- Makes the profile.
-- @tparam table source of `sonde.base.input`
-- @tparam table opts of `sonde.open`; `store` is a question, see `Store:profile`
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function reader.read(source, opts)
  if opts.from or opts.to then
    return source:fail("a store is cut by since and until, not by from and to", "unavailable")
  end
  if source.path == nil then
    return source:fail("a store is read in place, not through a pipe", "unavailable",
      "save it to a file first")
  end
  local store, message, code, hint = require("sonde.capture.store").open(source.path,
    { mode = "read" })
  if store == nil then return nil, message, code, hint end
  local profile
  profile, message, code, hint = store:profile(opts.store)
  store:close()
  return profile, message, code, hint
end

return reader
