--- Command lines that run in this process, with what they print collected.
local cli <const> = require "sonde.cli"

local commands = {}

--- Something to write into: `text` is what was written.
function commands.collector()
  local out <const> = { text = "" }
  function out.write(self, ...)
    self.text = self.text .. table.concat { ... }
    return self
  end
  function out.flush() end
  return out
end

--- Where a command prints: `out.text`, `err.text`.
-- @tparam ?table terminal which of `out err` a verb shall take for one
function commands.env(terminal)
  return cli.env { out = commands.collector(), err = commands.collector(),
    terminal = terminal or { out = false, err = false } }
end

--- Runs a command line.
-- @return stdout, status, stderr, signal
function commands.run(...)
  local env <const> = commands.env()
  local status <const>, signal = cli.main({ ... }, env)
  return env.out.text, status, env.err.text, signal
end

return commands
