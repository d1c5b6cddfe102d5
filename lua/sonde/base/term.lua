--- The terminal: whether there is one, how wide, and whether to use colour.
-- @module sonde.base.term
local core <const> = require "sonde.c.core"

local term = {}

local DEFAULT_COLUMNS <const> = 80

--- Does a standard stream lead to a terminal?
-- @tparam integer fd 0, 1 or 2
-- @treturn boolean
function term.is_terminal(fd)
  return core.isatty(fd)
end

--- Width of the terminal.
-- @tparam ?integer fd 1 when not given
-- @treturn integer columns; 80 when there is no terminal
function term.columns(fd)
  return core.columns(fd or 1) or DEFAULT_COLUMNS
end

--- Should the text on a stream be coloured? NO_COLOR wins, then
-- CLICOLOR_FORCE; otherwise only a terminal that can is coloured.
-- @tparam integer fd
-- @tparam ?function getenv for specs; os.getenv otherwise
-- @treturn boolean
function term.colored(fd, getenv)
  getenv = getenv or os.getenv
  local function is_set(name)
    local value <const> = getenv(name)
    return value ~= nil and value ~= ""
  end
  if is_set("NO_COLOR") then return false end
  if is_set("CLICOLOR_FORCE") and getenv("CLICOLOR_FORCE") ~= "0" then return true end
  return term.is_terminal(fd) and getenv("TERM") ~= "dumb"
end

--- A line that is rewritten in place while something takes long. It writes
-- only to a terminal, and not before half a second of work or one of time.
-- @param out a file handle
-- @tparam boolean live is it a terminal?
-- @treturn function call it with a text to show, with nil to clear the line
function term.status(out, live)
  if not live then return function() end end
  local began <const>, since <const> = os.clock(), os.time()
  local shown = false
  return function(text)
    if text == nil then
      if shown then out:write("\r\27[K") end
      shown = false
    elseif shown or os.clock() - began > 0.5 or os.time() - since > 1 then
      out:write("\r\27[K", text)
      shown = true
    end
    out:flush()
  end
end

return term
