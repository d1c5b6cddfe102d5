--- The interactive shell: a trace or two loaded, pprof's words, and Lua. This
-- module is what saved sessions use of it; the parts are in `sonde.shell.*`.
-- @module sonde.shell
local shell = {}

local SIGPIPE <const> = 13

--- Prints values as the shell does. A failure of the library (nil, message,
-- code) is told on stderr.
-- @param ...
-- @return all that it was given
function shell.show(...)
  local values <const> = table.pack(...)
  if values.n > 2 and values[1] == nil and type(values[2]) == "string" then
    io.stderr:write("sonde: ", require("sonde.base.text").printable(values[2]), "\n")
  elseif values.n > 0 then
    require("sonde.base.rows").adopt(values[1])
    io.stdout:write((require("sonde.shell.show").all(values)), "\n")
  end
  return ...
end

--- Gives a text to a command of the system's shell, as `| COMMAND` does. A
-- command that ends before it has read all is no failure.
-- @tparam string command
-- @tparam ?string text with nil, the two values behind it are returned
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function shell.pipe(command, text, ...)
  if text == nil then return nil, ... end
  local core <const> = require "sonde.c.core"
  core.watch_signal(SIGPIPE)
  local _ <close> = setmetatable({}, { __close = function() core.release_signal(SIGPIPE) end })
  io.stdout:flush()
  local pipe, message = io.popen(command, "w")
  if pipe == nil then return nil, message, "unavailable" end
  pipe:write(text, text:sub(-1) == "\n" and "" or "\n")
  local done, how, status = pipe:close()
  if done or how == "signal" and status == SIGPIPE then return true end
  return nil, ("%s: ended with %s %d"):format(command, how == "exit" and "status" or how, status),
    "unavailable"
end

return shell
