--- libuv. Everybody here gets it from this module, because luv runs its
-- callbacks in the coroutine that loaded it first, and that must be one where
-- no Lua runs otherwise: an interrupt, which is a hook of the main coroutine,
-- would raise at the first instruction of a callback, outside of any guard,
-- and luv ends the process at an error there.
-- @module sonde.base.uv

local function load_luv()
  return require "luv"
end

local apart <const> = coroutine.create(load_luv)
local loaded, uv = coroutine.resume(apart)
if not loaded then error(uv, 0) end

-- The coroutine has to live as long as luv, which is as long as the state.
debug.getregistry()[apart] = true

return uv
