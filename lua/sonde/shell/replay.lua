--- A saved session, run in a shell: the same questions about what is open here.
-- @module sonde.shell.replay
local errors <const> = require "sonde.base.errors"
local session <const> = require "sonde.shell.session"
local sonde <const> = require "sonde"

local replay = {}

-- The session's `sonde`: opening what is open already gives that.
local function own_sonde(by_path)
  return setmetatable({ open = function(from, opts)
    local input <const> = by_path[from]
    if input then return session.object_of(input) end
    return sonde.open(from, opts)
  end }, { __index = sonde })
end

-- What it shows is shown as an answer of this shell, and can be asked further.
local function own_shell(shell)
  return setmetatable({ show = function(...)
    shell.session:keep((...))
    shell:display(table.pack(...))
    return ...
  end }, { __index = function(_, name) return shell.session.globals[name] end })
end

-- A session that was saved with --redact needs a shell that renames too.
local function own_redact(shell)
  return { new = function()
    if shell.script_about.redactor == nil then
      errors.usage("that session was saved with --redact", "sonde shell --redact INPUT")
    end
    return { object = function(_, object) return object end, guard = function() end }
  end }
end

local function environment(shell, path)
  local arguments, by_path = { [0] = path }, {}
  for i, input in ipairs(shell.session.inputs) do
    local name <const> = input.path or input.name
    arguments[i], by_path[name] = name, input
  end
  local modules <const> = { sonde = own_sonde(by_path), ["sonde.shell"] = own_shell(shell),
    ["sonde.redact"] = own_redact(shell) }
  local globals <const> = shell.session.globals
  return setmetatable({
    arg = arguments, pcall = globals.pcall, xpcall = globals.xpcall,
    coroutine = globals.coroutine,
    require = function(name) return modules[name] or require(name) end,
  }, { __index = _G }), arguments
end

--- Runs one.
-- @tparam table shell
-- @tparam string path
-- @treturn boolean true; a failure is raised
function replay.run(shell, path)
  local env <const>, arguments <const> = environment(shell, path)
  local chunk, message = loadfile(path, "t", env)
  if chunk == nil then
    errors.raise { message = "cannot run: " .. message, code = "not_found", hint = "help replay" }
  end
  chunk(table.unpack(arguments))
  return true
end

return replay
