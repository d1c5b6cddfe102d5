-- Does a function stay within its share of the time? For a build that fails
-- when it does not.
-- Usage: lua5.4 examples/budget.lua FILE PATTERN PERCENT
local sonde <const> = require "sonde"

local input <const> = assert(sonde.open(arg[1]))
local profile <const> = input.profile and assert(input:profile { view = "managed" }) or input

local total <const> = profile:total(1)
local spent <const> = profile:focus(arg[2]):total(1)
local share <const> = total == 0 and 0 or spent / total * 100

print(("%s: %.1f %% of a budget of %s %%"):format(arg[2], share, arg[3]))
os.exit(share <= tonumber(arg[3]) and 0 or 1)
