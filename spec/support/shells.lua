-- Shells in this process, over opened inputs, whose output is collected.
local commands <const> = require "spec.support.commands"
local loop <const> = require "sonde.shell.loop"
local session <const> = require "sonde.shell.session"
local sonde <const> = require "sonde"
local style <const> = require "sonde.shell.style"

local shells = {}

--- Opens files; of two, the first is before and the second after.
function shells.new(...)
  local inputs = {}
  local paths <const> = { ... }
  local names <const> = #paths == 2 and { "before", "after" } or { "input" }
  local function open(path, name, expression)
    local input <const> = session.input(assert(sonde.open(path)), expression, name)
    input.path = path
    return input
  end
  for i, path in ipairs(paths) do
    inputs[i] = open(path, names[i], ("inputs[%d]"):format(i))
  end
  local env <const> = commands.env()
  local plain <const> = style.painter(false)
  local shell <const> = loop.new { session = session.new(inputs), env = env, paint = plain,
    paint_err = plain, script_about = {},
    open = function(path) return open(path, path:match("[^/]*$"), "") end }
  -- Runs lines: what they print, their last status, what is told.
  function shell.ask(...)
    env.out.text, env.err.text = "", ""
    local status
    for _, line in ipairs { ... } do status = shell:run(line) end
    return env.out.text, status, env.err.text
  end
  return shell
end

return shells
