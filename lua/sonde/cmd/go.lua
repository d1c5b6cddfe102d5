--- Finds out whether a command line means a running Go program: by its pid or its
-- name, or by a URL.
-- @module sonde.cmd.go
local errors <const> = require "sonde.base.errors"
local url <const> = require "sonde.base.url"

local go = {}

-- The value of -p or --process, and the words without it.
local function process_option(words)
  for i, word in ipairs(words) do
    local value, used = word:match("^%-%-process=(.+)$") or word:match("^%-p(.+)$"), 1
    if word == "-p" or word == "--process" then value, used = words[i + 1], 2 end
    if value then
      local rest <const> = table.move(words, 1, i - 1, 1, {})
      return value, table.move(words, i + used, #words, #rest + 1, rest)
    end
  end
end

local function is_called(stat, words, name)
  local own <const> = (words[1] or ""):match("([^/]+)$") or ""
  return stat.name:lower() == name:lower() or own:lower() == name:lower()
end

-- Go's runtime has a thread of its own beside the program's.
local FEWEST_THREADS <const> = 2

-- The Go processes of this name.
local function by_name(name)
  local buildinfo <const> = require "sonde.golang.buildinfo"
  local proc <const> = require "sonde.process.proc"
  local found = {}
  for _, pid in ipairs(proc.pids(FEWEST_THREADS)) do
    local stat <const> = proc.stat(pid)
    if stat and not stat.kernel and is_called(stat, proc.command_line(pid), name)
      and buildinfo.of_pid(pid) then
      found[#found + 1] = pid
    end
  end
  return found
end

local function is_pid_of_go(word)
  local pid <const> = math.tointeger(tonumber(word))
  return pid ~= nil and require("sonde.golang.buildinfo").of_pid(pid) ~= nil
end

local function resolve(word)
  if url.is(word) then return word end
  if word:find("^%d+$") then return is_pid_of_go(word) and word or nil end
  if word:find("^[-:]") or word:find("[/%s]") then return nil end
  if require("sonde.c.core").path_info(word) then return nil end
  local pids <const> = by_name(word)
  if #pids > 1 then
    errors.raise { code = "not_found", status = errors.exit.target, hint = "sonde … -p " .. pids[1],
      message = ("'%s' is %d Go processes: %s"):format(word, #pids, table.concat(pids, ", ")) }
  end
  return pids[1] and tostring(pids[1])
end

--- What a command line names as a process: by `-p`, or with its first word.
-- @tparam {string,...} words
-- @treturn ?string
-- @treturn ?{string,...} the other words
function go.process_of(words)
  local value <const>, rest <const> = process_option(words)
  if value == nil and words[1] and words[1]:sub(1, 1) ~= "-" then
    return words[1], table.move(words, 2, #words, 1, {})
  end
  return value, rest
end

--- The Go process that a command line means.
-- @tparam {string,...} words
-- @treturn ?string its pid in digits, or a URL; nil when another input is meant
-- @treturn {string,...} the words with that first, and without `-p`
function go.meant(words)
  local value, rest = go.process_of(words)
  local input <const> = value and resolve(value)
  if input == nil then return nil, words end
  return input, table.move(rest, 1, #rest, 2, { input })
end

return go
