--- Finds out whether a command line means a running program of neither .NET nor
-- Go, and takes the stacks of its threads.
-- @module sonde.cmd.native
local errors <const> = require "sonde.base.errors"
local loop <const> = require "sonde.base.loop"

local native = {}

-- A sampler reads the symbols of all that is loaded first, for seconds.
local DEADLINE <const> = 60 * 1000000000

local function pid_of(word)
  if word:find("^%d+$") then return math.tointeger(tonumber(word)) end
  if word:find("^[-:]") or word:find("[/%s]") or word:find("^%a+:") then return nil end
  if require("sonde.c.core").path_info(word) then return nil end
  return (require("sonde.targets").process(word))
end

local function is_native(pid)
  local endpoint <const> = require "sonde.dotnet.endpoint"
  local stat <const> = require("sonde.process.proc").stat(pid)
  if stat == nil or stat.kernel then return false end
  local found <const>, search <const> = endpoint.find(stat, {})
  if found or endpoint.is_dotnet(search) then return false end
  return require("sonde.golang.buildinfo").of_pid(pid) == nil
end

--- The native process that a command line means.
-- @tparam {string,...} words
-- @treturn ?string its pid in digits; nil when another input is meant
-- @treturn {string,...} the words with that first, and without `-p`
function native.meant(words)
  local value <const>, rest <const> = require("sonde.cmd.go").process_of(words)
  local pid <const> = value and pid_of(value)
  if pid == nil or not is_native(pid) then return nil, words end
  return tostring(pid), table.move(rest, 1, #rest, 2, { tostring(pid) })
end

--- Takes the stacks of a process; ends the verb when there are none to take.
-- @tparam integer pid
-- @tparam table args the verb's, of which `timeout` is used
-- @tparam table env
-- @treturn table for `sonde.open.dump`: `bytes name source pid`
function native.take(pid, args, env)
  local transport <const> = require("sonde.capture.transports.native").new()
  local available, message, code, hint = transport.available(pid)
  local taken
  if available then
    env:say(("process %d is stopped while %s reads its stacks"):format(pid,
      transport.path:match "[^/]+$"))
    taken, message, code = transport.dump(pid, loop.after(args.timeout or DEADLINE))
  end
  if taken == nil then
    errors.raise { code = code, hint = hint,
      message = ("cannot take the stacks of process %d: %s"):format(pid, message) }
  end
  return { bytes = taken.text, name = ("process %d"):format(pid), source = "native", pid = pid }
end

return native
