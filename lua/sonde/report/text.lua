--- The table of `top` with all its rows, as pprof's `-text`.
-- @module sonde.report.text
local top <const> = require "sonde.report.top"

local text = {}

for key, value in pairs(top) do text[key] = value end

text.name = "text"
text.summary = "the table of top, all rows"
text.terminal = nil

return text
