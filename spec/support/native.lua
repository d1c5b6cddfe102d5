--- Native programs for specs: built here, and the module that looks into them.
local helper <const> = require "spec.support.helper"

local native = {}

--- The module, or the spec is skipped.
function native.module()
  local found, module = pcall(require, "sonde.c.native")
  if not found then helper.skip("built without libdw") end
  return module
end

--- Runs a shell command that must work; what it printed.
function native.sh(command)
  local out, status, err = helper.run(command)
  assert(status == 0, command .. "\n" .. out .. err)
  return out
end

--- The address of a symbol of a program, by nm.
function native.address(program, name)
  local line <const> = native.sh(("nm %s | grep -w '%s'"):format(program, name))
  return assert(tonumber(line:match "^%x+", 16))
end

return native
