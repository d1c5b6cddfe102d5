-- What got slower between two recordings?
-- Usage: lua5.4 examples/what_changed.lua BEFORE AFTER
local sonde <const> = require "sonde"

local function profile_of(path)
  local input <const> = assert(sonde.open(path))
  return input.profile and assert(input:profile()) or input
end

local diff <const> = assert(sonde.diff(profile_of(arg[1]), profile_of(arg[2])))

for i, row in ipairs(diff:rows()) do
  if i > 10 then break end
  local relative = row.relative
  if type(relative) == "number" then relative = ("%+.0f %%"):format(relative) end
  print(("%+14d %-12s %8s  %s"):format(row.change, row.unit, relative, row.name))
end
