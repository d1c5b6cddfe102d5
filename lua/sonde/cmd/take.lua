--- Inputs of verbs that are running processes: a URL, or the pid of a Go process. What
-- the view asks for is taken and opened as a file of it would be.
-- @module sonde.cmd.take
local errors <const> = require "sonde.base.errors"
local url <const> = require "sonde.base.url"

local take = {}

-- Of the options those that say how a running process is asked.
local TAKEN_BY <const> = {
  "duration", "delta", "gc", "header", "ca", "insecure", "source", "gops", "timeout",
}

-- Arguments and options that name inputs.
local INPUTS <const> = { "input", "inputs", "before", "after", "base", "diff_base", "other" }

-- Profiles that the view chose when they were taken.
local taken_by_view <const> = setmetatable({}, { __mode = "k" })

--- Is the input a running process?
-- @tparam string path
-- @treturn boolean
function take.is_live(path)
  return path:find("^%d+$") ~= nil or url.is(path)
end

-- Only a Go process gives profiles when asked; others are recorded.
local function need_go(pid)
  local info, message, code = require("sonde.golang.buildinfo").of_pid(pid)
  if info then return end
  local has_file <const> = require("sonde.c.core").path_info(tostring(pid)) ~= nil
  local hint = has_file and "./" .. pid or "sonde ps"
  if code == "not_found" then message = ("no process %d"):format(pid)
  elseif code == "permission" then
    message, hint = ("process %d: permission denied"):format(pid), "as its user, or as root"
  elseif code == "unavailable" then
    message, hint = ("process %d is no Go program"):format(pid), ("sonde record -p %d"):format(pid)
  end
  errors.raise { message = "cannot open: " .. message, code = code, hint = hint }
end

--- How a running process is asked, of a verb's options.
-- @tparam table args
-- @tparam table env
-- @treturn table for `sonde.golang.live`
function take.options_of(args, env)
  local live <const> = require "sonde.golang.live"
  local wanted = { view = args.view }
  for _, name in ipairs(TAKEN_BY) do wanted[name] = args[name] end
  local wrong <const> = live.conflict(wanted)
  if wrong then errors.usage(wrong) end
  wanted.told = function(what) env:say(what) end
  return wanted
end

-- Asks a pid or a URL; what came, and the pid.
local function ask(path, wanted, env)
  local live <const> = require "sonde.golang.live"
  local pid <const> = math.tointeger(tonumber(path))
  if pid then need_go(pid) end
  local taken, message, code, hint = (pid and live.of_pid or live.of_url)(pid or path, wanted)
  if taken == nil then
    errors.raise { message = "cannot open: " .. message, code = code, hint = hint }
  end
  if message then env:warn(message, code, hint) end
  return taken, pid
end

--- Takes what a running process gives; ends the verb when that is nothing.
-- @tparam string path
-- @tparam table args the verb's
-- @tparam table env
-- @treturn ?table for `sonde.open`; nil when the input is no running process
function take.input(path, args, env)
  if not take.is_live(path) then return nil end
  return (ask(path, take.options_of(args, env), env))
end

local function is_native(pid, args)
  if args.transport then return args.transport == "native" end
  local info, _, code = require("sonde.golang.buildinfo").of_pid(pid)
  return info == nil and code == "unavailable"
end

--- Takes the goroutines of a running Go program, or the threads of a native one, as
-- text; ends the verb when there are none to take.
-- @tparam string path pid or URL
-- @tparam table args the verb's; `transport` chooses who is asked
-- @tparam table env
-- @treturn table for `sonde.open.dump`: `bytes name source pid`, and `labels`, the same
--   with debug=1, where the server has it
function take.dump(path, args, env)
  local number <const> = math.tointeger(tonumber(path))
  if number and is_native(number, args) then
    return require("sonde.cmd.native").take(number, args, env)
  end
  local wanted <const> = take.options_of({ source = args.transport, gops = args.gops,
    timeout = args.timeout, header = args.header, ca = args.ca, insecure = args.insecure }, env)
  wanted.dump = true
  local taken <const>, pid <const> = ask(path, wanted, env)
  taken.pid = pid
  if taken.is_server then
    wanted.debug = 1
    taken.labels = require("sonde.golang.live").of_url(taken.address, wanted)
  end
  return taken
end

--- Remembers that the view chose what was taken.
-- @param object that was opened
-- @tparam ?table taken of `take.input`
function take.remember(object, taken)
  if taken and taken.is_profile then taken_by_view[object] = true end
end

local function any_live(args)
  for _, name in ipairs(INPUTS) do
    local value <const> = args[name]
    for _, word in ipairs(type(value) == "table" and value or { value }) do
      if type(word) == "string" and take.is_live(word) then return true end
    end
  end
  return false
end

--- Did the view choose a profile when it was taken? Then it says nothing more of
-- that, nor of a file that is compared with it and has no such sample type.
-- @tparam Profile profile
-- @tparam table args
-- @treturn boolean
function take.chosen_by_view(profile, args)
  if taken_by_view[profile] then return true end
  for _, kind in ipairs(profile:types()) do
    if kind.type == args.view then return false end
  end
  return any_live(args)
end

return take
