-- Runs once before the specs of a run.
local busted <const> = require "busted"
local core <const> = require "sonde.c.core"

-- What a spec writes to a process or a client that has gone, as libuv writes, would
-- end the suite by this signal. Whatever a test starts has its default again.
local SIGPIPE <const> = 13

-- Inside a test `pending` ends it, but only the test's own environment has
-- that function; helpers find it here.
busted.subscribe({ "test", "start" }, function(element)
  core.watch_signal(SIGPIPE)
  package.loaded["spec.support.skip"] = element.env.pending
  return nil, true
end)

-- What belongs to the process is loaded here, so that it is not made anew for
-- every spec file: the event loop, as libuv's is, and the methods that are added
-- to the class of profiles, whose C half is loaded once.
require "sonde.base.loop"
require "sonde.profile"

-- The sanitizer runs ask for collectors that find what an ordinary one lets
-- live: this one begins anew when memory has grown by 8 %. (A pause of 0 would
-- leave it as it is; one that never rests costs fifty times as much.)
if os.getenv "SONDE_GC_STRESS" then
  collectgarbage("incremental", 108, 400)
end

-- A full collection at every call of a C function, for specs of bindings.
if os.getenv "SONDE_GC_EVERY_CALL" then
  local function collect()
    if debug.getinfo(2, "S").what == "C" then collectgarbage() end
  end
  busted.subscribe({ "test", "start" }, function()
    debug.sethook(collect, "c")
    return nil, true
  end)
  busted.subscribe({ "test", "end" }, function()
    debug.sethook()
    return nil, true
  end)
end
