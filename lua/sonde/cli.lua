--- The command: chooses the verb, prints messages, ends with a status.
-- A verb is a file of `sonde.cmd` that returns `name summary arguments options
-- examples run`; `run(args, env)` prints to `env.out` and returns an exit
-- status or nothing. Verbs give up by `errors.raise`; this is the only place
-- that prints a message and the only one that chooses the status.
-- @module sonde.cli
local core <const> = require "sonde.c.core"
local errors <const> = require "sonde.base.errors"
local files <const> = require "sonde.base.files"
local term <const> = require "sonde.base.term"
local text <const> = require "sonde.base.text"

local cli = {}

--- The verbs, in the order in which help lists them.
cli.verbs = { "top", "report", "diff", "convert", "inspect", "events", "ps", "info",
  "record", "dump", "counters", "core", "perfmap", "doctor", "probe", "cut",
  "policy", "watch",
  "capture", "captures", "query", "export", "store",
  "shell", "completion", "help", "version" }

-- Signals that end the command: Ctrl-C, a closed terminal, kill.
local SIGNALS <const> = { SIGINT = 2, SIGHUP = 1, SIGTERM = 15 }

local is_verb <const> = {}
for _, name in ipairs(cli.verbs) do is_verb[name] = true end

--- The module of a verb.
-- @tparam string name
-- @treturn ?table
function cli.verb(name)
  return is_verb[name] and require("sonde.cmd." .. name) or nil
end

local Env <const> = {}
Env.__index = Env

--- What a verb sees of the world; specs give their own.
-- @tparam ?table given `out` (with `write`), `err` (likewise), `getenv`
-- @treturn table
function cli.env(given)
  given = given or {}
  return setmetatable({
    out = given.out or files.output(io.stdout, "standard output"),
    err = given.err or io.stderr,
    getenv = given.getenv or os.getenv,
    terminal = given.terminal or { out = term.is_terminal(1), err = term.is_terminal(2) },
    status = 0,
  }, Env)
end

--- Says something that is no result, on stderr.
-- @tparam string message
-- @tparam ?string hint
function Env:say(message, hint)
  self.err:write("sonde: ", text.printable(message), "\n")
  if hint and hint ~= self.command then self.err:write("try: ", text.printable(hint), "\n") end
end

--- Tells that a result is incomplete; the exit status will say so too.
-- @tparam string message
-- @tparam ?string code
-- @tparam ?string hint
function Env:warn(message, code, hint)
  self:say(message, hint)
  if code then self.status = math.max(self.status, errors.exit_of(code)) end
end

-- A first word that is no verb: a file to summarise, or a mistake.
local function is_input(word)
  if word == "-" or word:find("[/.]") or word:find("^%d+$") or word:find("^unix:/")
    or word:find("^clickhouse://") then
    return true
  end
  return core.path_info(word) ~= nil
end

local function unknown_word(word)
  local options <const> = require "sonde.base.options"
  local near <const> = options.suggest(word, cli.verbs)
  if near then
    errors.usage(("unknown verb '%s' (did you mean '%s'?)"):format(word, near),
      "sonde help " .. near)
  end
  errors.usage(("'%s' is neither a verb nor a file"):format(word), "sonde help")
end

--- The verb of a command line; a usage failure when there is none.
-- @tparam {string,...} words
-- @treturn table its module
-- @treturn {string,...} the words that are left for it
function cli.choose(words)
  local first <const> = words[1]
  if first == nil or first == "-h" or first == "--help" then return cli.verb "help", {} end
  if first == "--version" or first == "-V" then return cli.verb "version", {} end
  if is_verb[first] then return cli.verb(first), table.move(words, 2, #words, 1, {}) end
  if first == "open" then
    return require "sonde.cmd.summary", table.move(words, 2, #words, 1, {})
  end
  if first ~= "-" and first:sub(1, 1) == "-" then
    return require "sonde.cmd.summary", words
  end
  if is_input(first) then return require "sonde.cmd.summary", words end
  unknown_word(first)
end

local function run_verb(words, env)
  local verb, rest = cli.choose(words)
  local status <const> = verb.start(rest, env)
  env.out:flush()
  return status or 0
end

-- Lua modules of Debian packages that the command may come to need.
local PACKAGES <const> = {
  argparse = "lua-argparse", rex_pcre2 = "lua-rex-pcre2", luv = "lua-luv",
  dkjson = "lua-dkjson",
}

-- The failure for a module that is not installed; nil for another error.
local function missing_module(message)
  local name <const> = tostring(message):match("module '([%w_]+)' not found")
  if PACKAGES[name] == nil then return nil end
  return errors.failure { code = "unavailable", hint = "apt-get install " .. PACKAGES[name],
    message = ("the Lua module '%s' is not installed"):format(name) }
end

-- An error that nobody expected keeps its traceback; the others need none.
local function keep_trace(message)
  if errors.is_failure(message) or errors.is_interrupt(message) then return message end
  local missing <const> = missing_module(message)
  if missing then return missing end
  return { bug = debug.traceback(tostring(message), 2) }
end

local function report_bug(env, trace)
  local sonde <const> = require "sonde"
  env.err:write("sonde: an error of sonde itself; please report it with the lines below\n",
    ("sonde %s, %s\n"):format(sonde.VERSION, _VERSION), trace, "\n")
  return errors.exit.bug
end

-- The status of a run that raised, after its message was printed.
local function failed(env, raised)
  if errors.is_interrupt(raised) then return nil, core.caught_signal() end
  if not errors.is_failure(raised) then return report_bug(env, raised.bug) end
  if raised.broken_pipe then return nil, 13 end
  if not raised.quiet then env:say(raised.message, raised.hint) end
  -- That damaged data has nothing to show does not mean that there was nothing.
  if raised.status == errors.exit.empty then return math.max(raised.status, env.status) end
  return raised.status
end

--- Runs a command line.
-- @tparam {string,...} words without the program's name
-- @tparam table env see `cli.env`
-- @treturn ?integer exit status; nil when a signal has to end the process
-- @treturn ?integer that signal
function cli.main(words, env)
  -- What was just typed is no advice.
  env.command = "sonde " .. table.concat(words, " ")
  local done, result = xpcall(run_verb, keep_trace, words, env)
  if not done then
    local status, signal = failed(env, result)
    -- What was printed before the failure is partial data, and stays.
    pcall(env.out.flush, env.out)
    return status, signal
  end
  return math.max(result, env.status)
end

--- Runs the process's command line and ends the process.
-- @tparam {string,...} words
function cli.run(words)
  for _, number in pairs(SIGNALS) do core.catch_signal(number) end
  io.stdout:setvbuf("full", 1 << 16)
  local status, signal = cli.main(words, cli.env())
  local sessions <const> = package.loaded["sonde.dotnet.session"]
  if sessions then sessions.close_all() end
  if status == nil then core.die_by(signal) end
  -- Without closing the state: the system frees the memory faster.
  os.exit(status, false)
end

return cli
