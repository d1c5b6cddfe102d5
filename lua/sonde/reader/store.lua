--- Reads a window of a store of captures as one profile.
-- @module sonde.reader.store
local reader = {}

local function no_times(name)
  return nil, name .. ": a store is cut by since and until, not by from and to", "unavailable"
end

-- The profile of the window that is asked for.
local function profile_of(target, question)
  local store, message, code, hint = require("sonde.capture.store").open(target,
    { mode = "read" })
  if store == nil then return nil, message, code, hint end
  local profile
  profile, message, code, hint = store:profile(question)
  store:close()
  return profile, message, code, hint
end

--- Makes the profile of a store on a server.
-- @tparam string target `clickhouse://HOST[:PORT][/DATABASE]`
-- @tparam table opts of `sonde.open`; `store` is a question, see `Store:profile`
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function reader.read_server(target, opts)
  if opts.from or opts.to then return no_times(target) end
  require "sonde.profile"
  return profile_of(target, opts.store)
end

--- Makes the profile.
-- @tparam table source of `sonde.base.input`
-- @tparam table opts of `sonde.open`; `store` is a question, see `Store:profile`
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function reader.read(source, opts)
  if opts.from or opts.to then return no_times(source.name) end
  if source.path == nil then
    return source:fail("a store is read in place, not through a pipe", "unavailable",
      "save it to a file first")
  end
  return profile_of(source.path, opts.store)
end

return reader
