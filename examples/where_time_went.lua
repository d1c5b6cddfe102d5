-- Where did the time go?
-- Usage: lua5.4 examples/where_time_went.lua FILE [ROWS]
local sonde <const> = require "sonde"

local input <const> = assert(sonde.open(arg[1]))
local profile <const> = input.profile and assert(input:profile()) or input

print(profile:top { n = tonumber(arg[2]) or 10 })
