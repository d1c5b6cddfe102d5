-- What does one part of the program do, as a flame graph for the browser?
-- Usage: lua5.4 examples/flame_graph.lua TRACE PATTERN OUTPUT.svg
local sonde <const> = require "sonde"

local trace <const> = assert(sonde.open(arg[1]))
local profile <const> = assert(trace:profile())

assert(profile:show_from(arg[2]):fold_recursion():write(arg[3]))
print("open it with: xdg-open " .. arg[3])
