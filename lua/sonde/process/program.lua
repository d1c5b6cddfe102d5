--- Programs of the machine: where they are, and running one for its output.
-- @module sonde.process.program
local core <const> = require "sonde.c.core"
local loop <const> = require "sonde.base.loop"
local uv <const> = require "sonde.base.uv"

local program = {}

local SECOND <const> = 1000000000
local SIGTERM <const>, SIGKILL <const> = 15, 9

-- Between asking one to end and ending it.
local GRACE <const> = 2 * SECOND

-- Somebody whom it started may hold its output open: that is not waited for.
local LAST_OUTPUT <const> = SECOND // 10

local MOST <const> = 64 << 20

--- Where a program is.
-- @tparam string name
-- @treturn ?string its path; nil when no folder of $PATH has it
function program.find(name)
  for directory in (os.getenv "PATH" or ""):gmatch "[^:]+" do
    local path <const> = directory .. "/" .. name
    if core.path_info(path) == "file" and uv.fs_access(path, "X") then return path end
  end
end

-- One of its outputs: what came, and an event of its end.
local function listen(most)
  local self <const> = { pipe = uv.new_pipe(false), pieces = {}, size = 0, closed = loop.event() }
  function self.begin()
    self.pipe:read_start(loop.guard(function(message, data)
      if data and self.size < most then
        self.pieces[#self.pieces + 1] = data:sub(1, most - self.size)
        self.size = self.size + #data
      end
      if data == nil or message then self.closed:set() end
    end))
  end
  return self
end

-- It leads a group of its own, which is ended with it.
local function stop(pid, ended)
  uv.kill(-pid, SIGTERM)
  if ended:wait(loop.after(GRACE)) then return end
  uv.kill(-pid, SIGKILL)
  ended:wait(loop.after(GRACE))
end

local function finish(handle, outputs)
  local late <const> = loop.after(LAST_OUTPUT)
  for _, output in ipairs(outputs) do
    if handle then output.closed:wait(late) end
    loop.close(output.pipe)
  end
  if handle then loop.close(handle) end
end

--- Runs a program and waits for its end. One that takes too long is ended, with all
-- that it started.
-- @tparam {string,...} words program and arguments: no shell reads them
-- @tparam table opts `deadline` (of `loop.now`), `most` (bytes of each output that
--   are kept)
-- @treturn ?table `status` (128 and the number of a signal that ended it), `output`
--   and `errors` (what it wrote to both of its streams)
-- @treturn ?string message
-- @treturn ?string code `not_found permission unavailable timeout`
function program.run(words, opts)
  local out <const>, err <const> = listen(opts.most or MOST), listen(opts.most or MOST)
  local ended <const> = loop.event()
  local handle, pid, name = uv.spawn(words[1], {
    args = table.move(words, 2, #words, 1, {}), stdio = { nil, out.pipe, err.pipe },
    detached = true,
  }, loop.guard(function(code, signal) ended:set(signal ~= 0 and 128 + signal or code) end))
  if handle == nil then
    finish(nil, { out, err })
    return nil, ("cannot run %s: %s"):format(words[1], (pid:gsub("^%u+: ", ""))),
      name == "ENOENT" and "not_found" or name == "EACCES" and "permission" or "unavailable"
  end
  out.begin()
  err.begin()
  local done <const>, status <const> = ended:wait(opts.deadline)
  if not done then stop(pid, ended) end
  finish(handle, { out, err })
  if not done then return nil, words[1] .. " did not end in time", "timeout" end
  return { status = status, output = table.concat(out.pieces), errors = table.concat(err.pieces) }
end

return program
