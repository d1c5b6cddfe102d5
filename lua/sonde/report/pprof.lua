--- pprof's own format, for `go tool pprof` and everything that reads it.
-- @module sonde.report.pprof
local sink <const> = require "sonde.report.sink"

local pprof = {}

pprof.name = "pprof"
pprof.summary = "pprof's format (profile.proto), for go tool pprof"
pprof.takes = "profile"
pprof.binary = true
pprof.keeps_all = true
pprof.extensions = { "pb.gz", "pprof", "pb" }
pprof.options = {
  { name = "gzip", type = "boolean", default = true,
    help = "compress; a name that ends in .pb asks for no" },
}
pprof.presets = { pb = { gzip = false } }

--- Writes the profile with all its sample types.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function pprof.write(profile, opts, out)
  local to <const> = sink.new(out)
  local done, message, code = profile:encode { gzip = opts.gzip,
    write = function(piece) to:put(piece) end }
  if not done then return nil, message, code end
  return to:finish()
end

--- Writes a difference: after minus before, so what went away is negative.
-- @param diff
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function pprof.write_diff(diff, opts, out)
  local profile, message, code = diff:profile()
  if profile == nil then return nil, message, code end
  return pprof.write(profile, opts, out)
end

return pprof
