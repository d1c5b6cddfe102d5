--- Programs in a real terminal, typed to and read from. The terminal is one of
-- util-linux's `script`, which every Debian has.
local helper <const> = require "spec.support.helper"

local pty = {}

local Pty <const> = {}
Pty.__index = Pty

local PATIENCE <const> = 400   -- looks at the output, 25 ms apart

local works

-- Some containers have no /dev/pts; `script` says so by its status.
local function needs_terminals()
  helper.needs "script"
  if works == nil then
    local _, status = helper.run "script -qec true /dev/null </dev/null >/dev/null"
    works = status == 0
  end
  if not works then helper.skip "no terminal can be opened here (/dev/pts)" end
end

local function nap()
  os.execute "sleep 0.025"
end

--- Starts a command in a terminal of 100 columns and 30 lines, in a directory
-- that takes the terminal's record. Skips the running test without `script`. The
-- result is to be closed: `local terminal <close> = …`.
function pty.start(directory, command)
  needs_terminals()
  local fifo <const>, record <const> = directory .. "/keys", directory .. "/screen"
  assert(os.execute("mkfifo " .. helper.quote(fifo)))
  local inner <const> = "stty rows 30 cols 100; " .. command .. "; echo ended $?"
  local pid <const> = helper.run(("TERM=${TERM:-xterm} script -qfc %s %s >/dev/null 2>&1 <>%s & "
    .. "echo $!"):format(helper.quote(inner), helper.quote(record), helper.quote(fifo)))
  -- Read by us, too: what is typed when the program has gone must not end the suite.
  local keys <const> = assert(io.open(fifo, "r+"))
  keys:setvbuf "no"
  return setmetatable({ keys = keys, record = record, at = 1, pid = pid:match "%d+" }, Pty)
end

--- Takes the terminal away, which ends what runs in it, however a test ended.
function Pty:__close()
  os.execute(("kill %s 2>/dev/null"):format(self.pid))
  if io.type(self.keys) == "file" then self.keys:close() end
end

--- All that the terminal showed, without escape sequences, line breaks of the
-- terminal's kind, and what `script` writes above.
function Pty:screen()
  local text <const> = (helper.read(self.record) or ""):gsub("^[^\n]*\n", "")
  return (text:gsub("\27%[[%d;?]*%a", ""):gsub("\r", ""))
end

--- Waits until a text appears behind what was seen last; gives what came
-- before it. Fails when it does not come.
function Pty:expect(text)
  for _ = 1, PATIENCE do
    local screen <const> = self:screen()
    local from, to = screen:find(text, self.at, true)
    if from then
      local before <const> = screen:sub(self.at, from - 1)
      self.at = to + 1
      return before
    end
    nap()
  end
  error(("'%s' did not appear in:\n%s"):format(text, self:screen():sub(self.at)), 2)
end

--- Types keys.
function Pty:type(keys)
  assert(self.keys:write(keys))
end

--- Types a line and waits for what it shows.
function Pty:say(line, text)
  self:type(line .. "\r")
  return self:expect(text)
end

--- Types a line until it shows something, for when Ctrl-C may have taken it.
function Pty:insist(line, text)
  for i = 0, PATIENCE do
    if i % 20 == 0 then self:type(line .. "\r") end
    local _, to = self:screen():find(text, self.at, true)
    if to then
      self.at = to + 1
      return
    end
    nap()
  end
  self:expect(text)
end

--- Ends the input, and waits for the program's end; its exit status.
function Pty:finish()
  self:type "\4"
  self:expect "ended "
  local status <const> = self:screen():match("^%d+", self.at)
  self.keys:close()
  return math.tointeger(tonumber(status))
end

return pty
