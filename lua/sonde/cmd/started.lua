--- What verbs share that start a program: `sonde VERB OPTIONS -- CMD ARGS`.
-- @module sonde.cmd.started
local errors <const> = require "sonde.base.errors"
local loop <const> = require "sonde.base.loop"

local started = {}

local SIGHUP <const>, SIGINT <const>, SIGTERM <const> = 1, 2, 15

-- As long as a program may go on after what we do with it.
local FOREVER <const> = 10 * 365 * 24 * 3600 * 1000000000

--- Tells a verb's own words from those of the program, which stand behind "--" and
-- are not read here.
-- @tparam {string,...} words
-- @tparam string verb for messages
-- @treturn {string,...} the verb's
-- @treturn ?{string,...} the program's; nil without "--"
function started.split(words, verb)
  for i, word in ipairs(words) do
    if word == "--" then
      local command <const> = table.move(words, i + 1, #words, 1, {})
      if #command == 0 then errors.usage("-- without a program", "sonde help " .. verb) end
      return table.move(words, 1, i - 1, 1, {}), command
    end
  end
  return words
end

--- Of a program that we started, signals are its own, first: what a terminal sends
-- it has already, others are passed on. It ends by them or not, and what we do with
-- it.
-- @tparam table program has `signal`
-- @tparam {function,...} steps what the first signal does besides, the second, and so
--   on, the last again and again; each gets the signal's number
-- @treturn function ends it
function started.heed(program, steps)
  local core <const> = require "sonde.c.core"
  local total = 0
  return loop.on_signals({ SIGINT, SIGTERM, SIGHUP }, function(number)
    total = total + 1
    if not core.signal_by_kernel(number) then program:signal(number) end
    steps[math.min(total, #steps)](number)
  end)
end

--- Waits for the end of a program, however long it takes.
-- @tparam table program has `wait`
-- @treturn ?integer status, the verb's own
function started.wait(program)
  return program:wait(loop.after(FOREVER))
end

return started
