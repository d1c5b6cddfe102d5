-- A runtime that is none: sends a trace to whoever starts a session.
--
--    lua5.4 bench/firehose.lua SOCKET TRACE
package.path = "lua/?.lua;lua/?/init.lua;./?.lua;" .. package.path
package.cpath = "build/lua/?.so;" .. package.cpath
local fake <const> = require "spec.support.fake_runtime"
local loop <const> = require "sonde.base.loop"

local PIECE <const> = 1 << 20
local HOUR <const> = 3600 * 1000000000

local server <const> = fake.start(arg[1], {
  stream = function(connection, _, reply)
    local file <close> = assert(io.open(arg[2], "rb"))
    if not connection:write(reply) then return end
    local piece = file:read(PIECE)
    while piece and connection:write(piece) do piece = file:read(PIECE) end
  end,
})
print "ready"
io.stdout:flush()
loop.sleep(HOUR)
server:close()
