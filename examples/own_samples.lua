-- How do I look at numbers of my own as a profile? Here: the bytes of the
-- files below a directory, by folder.
-- Usage: find DIR -type f -printf '%s %p\n' | lua5.4 examples/own_samples.lua OUTPUT
local sonde <const> = require "sonde"

local profile <const> = assert(sonde.profile {
  types = { { "files", "count" }, { "size", "bytes" } }, default = "size",
})

for line in io.lines() do
  local size, path = line:match("^(%d+) (.*)$")
  local stack = {}
  for part in path:gmatch("[^/]+") do table.insert(stack, 1, part) end
  profile:add(stack, { 1, math.tointeger(size) })
end

print(profile:top { n = 5, cum = true })
assert(profile:write(arg[1]))
