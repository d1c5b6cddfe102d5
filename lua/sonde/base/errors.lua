--- Errors: the stable codes, the exit statuses, and how a message looks.
-- What the world can cause is returned as `nil, message, code`; the codes are
-- listed here once. Inside the command, which has one place that prints
-- messages, a verb gives up by raising a failure made here.
-- @module sonde.base.errors
local errors = {}

--- Exit statuses of the command, by name. The only place that has them.
errors.exit = {
  done = 0,
  empty = 1,         -- nothing to show, or a rule was not met
  usage = 2,
  target = 3,        -- no such file or process, no permission, no answer
  damaged = 4,       -- damaged data; what could be read was written
  given_up = 5,      -- a second Ctrl-C
  bug = 70,          -- an error of ours
}

--- The codes: each with the exit status that it means for the command, and
-- with what it says. Texts of messages may change; codes do not.
errors.codes = {
  { code = "not_nettrace", exit = "damaged", meaning = "not a trace or profile that sonde reads" },
  { code = "unsupported_version", exit = "damaged",
    meaning = "a format version that this build cannot read, or no Trace object first" },
  { code = "no_events", exit = "empty", meaning = "a trace without any event or stack block" },
  { code = "no_samples", exit = "empty", meaning = "nothing in this view, or left by the filters" },
  { code = "no_endpoint", exit = "target", meaning = "no diagnostics endpoint; may be retried" },
  { code = "stream_too_large", exit = "damaged",
    meaning = "the byte cap was reached, the output is truncated" },
  { code = "runtime_error", exit = "target", meaning = "the runtime refused" },
  { code = "empty_pattern", exit = "usage", meaning = "a probe request that names nothing" },
  { code = "no_pattern", exit = "usage", meaning = "a probe request without a pattern" },
  { code = "no_binary", exit = "usage", meaning = "a probe request without a binary" },
  { code = "not_enough_data", exit = "damaged", meaning = "a record that is too short" },
  { code = "timeout", exit = "target", meaning = "a deadline passed" },
  { code = "canceled", exit = "target", meaning = "stopped by its user" },
  { code = "permission", exit = "target", meaning = "the system does not allow it" },
  { code = "truncated", exit = "damaged", meaning = "the data ends too early" },
  { code = "malformed", exit = "damaged", meaning = "the data is damaged" },
  { code = "limit", exit = "damaged", meaning = "a limit on memory was reached" },
  { code = "unavailable", exit = "target",
    meaning = "the system, a missing program or this input cannot give it" },
  { code = "not_found", exit = "target", meaning = "no such file, name or process" },
  { code = "unknown_name", exit = "usage",
    meaning = "a view, sample type, label, report or format of a name that there is not" },
}

local by_code <const> = {}
for _, row in ipairs(errors.codes) do by_code[row.code] = row end

--- The exit status that a code means.
-- @tparam ?string code
-- @treturn integer
function errors.exit_of(code)
  local row <const> = by_code[code]
  return errors.exit[row and row.exit or "target"]
end

--- The words of a system error without the path that Lua puts before them.
-- @tparam string message of io.open and its like
-- @tparam string path
-- @treturn string
function errors.system_words(message, path)
  if message:sub(1, #path + 2) == path .. ": " then return message:sub(#path + 3) end
  return message
end

--- The code for a system error number, as io.open returns it.
-- @tparam ?integer number
-- @treturn string
function errors.system_code(number)
  if number == 2 or number == 20 then return "not_found" end
  if number == 1 or number == 13 then return "permission" end
  return "unavailable"
end

local Failure <const> = {}
Failure.__index = Failure

function Failure:__tostring()
  return self.message
end

--- Makes a failure, for the command to print and to end with.
-- @tparam table failure `message`; optional `status` (exit status) or `code`
--   (which means one), `hint` (what follows `try:`), `usage` (usage error),
--   `quiet` (nothing is printed)
-- @treturn table the same
function errors.failure(failure)
  if failure.status == nil then
    failure.status = failure.usage and errors.exit.usage or errors.exit_of(failure.code)
  end
  return setmetatable(failure, Failure)
end

--- Raises a failure.
-- @tparam table failure see `errors.failure`
function errors.raise(failure)
  error(errors.failure(failure), 0)
end

--- Raises a usage error.
-- @tparam string message
-- @tparam ?string hint a command line that helps
function errors.usage(message, hint)
  errors.raise { message = message, usage = true, hint = hint }
end

--- Is this a failure made by `raise`?
-- @param value
-- @treturn boolean
function errors.is_failure(value)
  return getmetatable(value) == Failure
end

--- Is this what a signal raises (Ctrl-C, SIGTERM)?
-- @param value that was raised
-- @treturn boolean
function errors.is_interrupt(value)
  return type(value) == "string" and value:find("interrupted!", 1, true) ~= nil
end

local function passed(done, ...)
  if not done and errors.is_interrupt((...)) then error((...), 0) end
  return done, ...
end

--- Calls what may fail of itself: a user's function, a rule, a check. As `pcall`,
-- but an interrupt goes on: it is no failure of what it happened to meet.
-- @tparam function fn
-- @param ... its arguments
-- @treturn boolean
-- @return its results, or what it raised
function errors.pcall(fn, ...)
  return passed(pcall(fn, ...))
end

local function returned(done, ...)
  if done then return ... end
  local failure <const> = ...
  if not errors.is_failure(failure) or failure.usage then error(failure, 0) end
  return nil, failure.message, failure.code, failure.hint
end

--- Calls what raises the world's failures, for a function of the library, which
-- returns them.
-- @tparam function work
-- @param ... its arguments
-- @return its results; or nil
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function errors.returned(work, ...)
  return returned(pcall(work, ...))
end

return errors
