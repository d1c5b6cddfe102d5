--- The interactive shell: a trace or two loaded, pprof's words, and Lua. This
-- module is what saved sessions use of it; the parts are in `sonde.shell.*`.
-- @module sonde.shell
local shell = {}

--- The names that a shell has beside those of Lua, which saved sessions take from
-- here when they use them.
shell.names = { "pipe", "target", "targets", "store", "policy", "policies", "verb", "replay" }

--- Where verbs print, as of `sonde.cli`; nil: where the process does.
shell.env = nil

--- Is what is shown pseudonymous? Then nothing is shown that nobody renames.
shell.is_redacted = false

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
-- @param ... message and code, when there is no text
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

local function need_names(what)
  if not shell.is_redacted then return end
  require("sonde.base.errors").usage(("--redact: %s would be shown with its names"):format(what))
end

--- A running process, on which the verbs can be called; see `sonde.shell.live`.
-- @tparam integer|string|table what pid, name, `{ socket = path }`, or a row of
--   `targets()`
-- @treturn table with `record top counters dump info trace …`; a failure is raised
function shell.target(what)
  need_names "a running process"
  return require("sonde.shell.live").target(what, shell.env)
end

--- The processes that can be looked into.
-- @tparam ?table opts `all`: also those without a runtime that is known
-- @treturn Rows see `sonde.targets`
function shell.targets(opts)
  need_names "a running process"
  return require("sonde.shell.live").targets(opts)
end

--- A store of captures, opened for reading.
-- @tparam ?string name path, or `clickhouse://HOST/DATABASE`; `$SONDE_STORE` or
--   captures.db otherwise
-- @treturn Store with `captures find groups trend growth diff profile …`; a failure
--   is raised
function shell.store(name)
  need_names "a store"
  local env <const> = shell.env or { getenv = os.getenv }
  return (require("sonde.cmd.stores").open(name, env, "read"))
end

--- A policy. All that is wrong with it is told.
-- @tparam string word a file, or the name of one that comes with sonde
-- @tparam ?table args what its user sets
-- @tparam ?table opts `trust`: its code may use os, io and require
-- @treturn Policy with `explain matches test`; a failure is raised
function shell.policy(word, args, opts)
  need_names "a policy"
  local loaded, message, code, problems = require("sonde.policy").load(word,
    { args = args, trust = opts and opts.trust })
  if loaded then return loaded end
  require("sonde.base.errors").raise { code = code, hint = "policies()",
    message = problems and table.concat(problems, "; ") or message }
end

--- The policies that can be named.
-- @treturn Rows `name summary path problem`
function shell.policies()
  need_names "a policy"
  local list <const> = require("sonde.policy").list { getenv = shell.env and shell.env.getenv }
  return require("sonde.base.rows").of(list, function()
    return table.concat(require("sonde.cmd.policy").table_lines(list), "\n")
  end)
end

--- Runs a verb of the command, as `sonde VERB …` does.
-- @tparam string name
-- @tparam string ... its arguments
-- @treturn boolean true; a failure is raised
function shell.verb(name, ...)
  need_names "a verb's result"
  return require("sonde.shell.verbs").run(shell.env, { name, ... })
end

--- Runs a saved session. In a shell its inputs take the place of the recordings.
-- @tparam string path
-- @treturn boolean true; a failure is raised
function shell.replay(path)
  local chunk, message = loadfile(path, "t")
  if chunk == nil then
    require("sonde.base.errors").raise { message = "cannot run: " .. message, code = "not_found" }
  end
  chunk()
  return true
end

return shell
