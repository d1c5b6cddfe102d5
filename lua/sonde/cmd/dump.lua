--- `sonde dump INPUT`: what every goroutine or thread does, or did.
-- What the input is chooses the verb that shows it, and that the options: a kind
-- of input is a module of this folder, a verb as any other, and its name here.
-- @module sonde.cmd.dump
local core <const> = require "sonde.c.core"

local dump = {
  name = "dump",
  summary = "what every goroutine or thread does, of a running process or a saved dump",
}

-- In the order in which they are asked; the last takes what is left.
local KINDS <const> = {
  { module = "sonde.cmd.dump_file", words = "FILE|URL|PID of a Go or native program" },
  { module = "sonde.cmd.dump_process", words = "PID|NAME of a .NET program" },
}

local function has(words, ...)
  for _, word in ipairs(words) do
    for _, flag in ipairs { ... } do
      if word == flag or word:sub(1, #flag + 1) == flag .. "=" then return true end
    end
  end
  return false
end

-- A word that can only be a file: it says so by its look, or there is one. A
-- number is a process; its file is "./4242".
local function is_file(word)
  if word == "-" then return true end
  if word:sub(1, 1) == "-" or word:find("^%d+$") or word:find("^%a+://") then return false end
  return word:find("/", 1, true) ~= nil or core.path_info(word) ~= nil or word:find("%.txt$") ~= nil
end

local function takes_file(words)
  if has(words, "-p", "--process", "--socket") then return false end
  if has(words, "--diff", "--full", "--labels") then return true end
  for _, word in ipairs(words) do
    if is_file(word) then return true end
  end
  return false
end

local TAKES <const> = { ["sonde.cmd.dump_file"] = takes_file }

local function write_help(env)
  for i, kind in ipairs(KINDS) do
    if i > 1 then env.out:write("\n") end
    env.out:write(("sonde dump %s\n\n"):format(kind.words))
    require(kind.module).start({ "--help" }, env)
  end
end

--- The declarations of the verb, one for each kind of input.
-- @treturn {table,...}
function dump.forms()
  local list = {}
  for i, kind in ipairs(KINDS) do list[i] = require(kind.module).declaration() end
  return list
end

--- Runs the verb for what the command line names.
-- @tparam {string,...} words
-- @tparam table env
-- @treturn ?integer exit status
function dump.start(words, env)
  if has(words, "-h", "--help") then return write_help(env) end
  if has(words, "--tree") then return require("sonde.cmd.dump_process").start(words, env) end
  local is_meant, as_input = require("sonde.cmd.go").meant(words)
  if not is_meant and not takes_file(words) and not has(words, "--socket") then
    is_meant, as_input = require("sonde.cmd.native").meant(words)
  end
  if is_meant then return require("sonde.cmd.dump_file").start(as_input, env) end
  for _, kind in ipairs(KINDS) do
    local takes <const> = TAKES[kind.module]
    if takes == nil or takes(words) then return require(kind.module).start(words, env) end
  end
end

return dump
