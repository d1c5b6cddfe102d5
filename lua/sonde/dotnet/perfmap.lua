--- Maps of compiled code, which profilers of native code read.
-- @module sonde.dotnet.perfmap
local proc <const> = require "sonde.process.proc"

local perfmap = {}

local TYPES <const> = { all = 1, jitdump = 2, perfmap = 3 }

local UNKNOWN_COMMAND <const> = 0x80131385

--- The files that a runtime writes for each type. They are always in /tmp.
-- @tparam Target target
-- @tparam string what
-- @treturn {string,...} as they are seen from here
function perfmap.files(target, what)
  local root = target.pid and proc.root(target.pid) or ""
  local status <const> = target.pid and proc.status(target.pid)
  local pid <const> = status and status.inner_pid or target:info().pid
  local files = {}
  if what ~= "jitdump" then files[1] = ("%s/tmp/perf-%d.map"):format(root, pid) end
  if what ~= "perfmap" then files[#files + 1] = ("%s/tmp/jit-%d.dump"):format(root, pid) end
  return files
end

--- `Target:perfmap`.
-- @tparam Target target
-- @tparam string what
-- @tparam integer deadline
-- @treturn ?{string,...} files
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
-- @treturn ?integer hresult
function perfmap.set(target, what, deadline)
  if what ~= "off" and TYPES[what] == nil then
    error(("bad kind of map '%s' (perfmap, jitdump, all or off expected)"):format(
      tostring(what)), 3)
  end
  local answer, message, code, hint, hresult
  if what == "off" then
    answer, message, code, hint, hresult = target:request("DisablePerfMap", nil, deadline)
  else
    answer, message, code, hint, hresult = target:request("EnablePerfMap",
      { perf_map_type = TYPES[what] }, deadline)
  end
  if answer then return perfmap.files(target, what) end
  if hresult == UNKNOWN_COMMAND then
    hint = "needs .NET 8; before, start the process with DOTNET_PerfMapEnabled=1"
  end
  return nil, message, code, hint, hresult
end

return perfmap
