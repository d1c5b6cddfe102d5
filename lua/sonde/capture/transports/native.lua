--- A sampler of the system as a transport: eu-stack or gdb on Linux, sample on
-- macOS. It works on every process that may be traced, and stops it for the
-- time that it takes.
-- @module sonde.capture.transports.native
local program <const> = require "sonde.process.program"
local uv <const> = require "sonde.base.uv"

local native = {}

-- Most of a text that is kept.
local MOST <const> = 64 << 20

-- The samplers, the one that is preferred first.
local SAMPLERS <const> = {
  { file = "eu-stack", arguments = function(pid) return { "-p", tostring(pid) } end },
  { file = "gdb", arguments = function(pid)
    return { "-batch", "-nx", "-p", tostring(pid), "-ex", "thread apply all bt" }
  end },
  { file = "sample", arguments = function(pid) return { tostring(pid), "1" } end },
}

-- Runs the sampler as a child: its output.
local function run(path, arguments, deadline)
  local ended, message, code = program.run({ path, table.unpack(arguments) }, { most = MOST,
    deadline = deadline })
  if ended == nil then return nil, message, code end
  if ended.output:find "%S" then return ended.output end
  local words <const> = ended.errors:match "%S[^\n]*"
  return nil, ("%s ended with status %d%s"):format(path, ended.status,
    words and ": " .. words or ""), "permission"
end

local function find_sampler(look)
  for _, sampler in ipairs(SAMPLERS) do
    local path <const> = look(sampler.file)
    if path then return path, sampler end
  end
end

--- The transport. The sampler is looked up once, here.
-- @tparam ?table opts `look_path(file)` finds the sampler; `run(path, arguments,
--   deadline)` runs it and gives its output, or nil, message, code
-- @treturn table
function native.new(opts)
  opts = opts or {}
  local path <const>, sampler <const> = find_sampler(opts.look_path or program.find)
  local self <const> = { name = "native", destructive = false, path = path }

  function self.available(pid)
    if path == nil then
      return nil, "neither eu-stack nor gdb is installed", "unavailable",
        "apt-get install elfutils"
    end
    if pid == uv.os_getpid() then
      return nil, "a process cannot be traced by its own child while it waits for it",
        "unavailable"
    end
    local stat, message, code = require("sonde.process.proc").stat(pid)
    if stat == nil then return nil, message, code end
    return true
  end

  function self.dump(pid, deadline)
    local text, message, code = (opts.run or run)(path, sampler.arguments(pid), deadline)
    if text == nil then return nil, message, code end
    return { transport = "native", format = "native", text = text, collected_at = os.time() }
  end

  return self
end

return native
