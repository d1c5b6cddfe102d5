--- Writes a stretch of time of a trace as a smaller trace, which opens
-- everywhere and keeps the names of its methods.
-- @module sonde.dotnet.cut
local core <const> = require "sonde.c.core"
local files <const> = require "sonde.base.files"
local options <const> = require "sonde.base.options"

local cut = {}

--- Options of `cut.write`.
cut.options = {
  { name = "from", type = "duration", help = "leave out what was before this time" },
  { name = "to", type = "duration", help = "leave out what was after this time" },
  { name = "limit", type = "size", default = 1 << 30, default_text = "1GiB", min = 1 << 20,
    help = "most memory that may be used" },
}

-- Damage ends the reading; what came before it is written.
local function copy(cutter, source, out)
  local piece, message, code
  repeat
    piece, message, code = cutter:pump(source.input)
    if piece then out:write(piece) end
  until piece == nil
  if code and code ~= "truncated" then return nil, message, code end
  local rest, why, reason = cutter:finish()
  if rest == nil then return nil, why, reason end
  out:write(rest)
  return true, message or why, code or reason
end

--- Cuts a trace. Times count from its start, in the result too.
-- @param from as for `sonde.open`; NetTrace 4, as runtimes write it
-- @tparam string path of the result
-- @tparam ?table opts `from to limit`
-- @treturn ?table counts: `kept left_out` (events) `written` (bytes)
-- @treturn ?string message; beside counts it says what the source lacks
-- @treturn ?string code
-- @treturn ?string hint
function cut.write(from, path, opts)
  opts = options.check(cut.options, opts, "cut")
  local source, message, code = require("sonde.base.input").open(from)
  if source == nil then return nil, message, code end
  local kind, why, reason, hint = source:kind()
  if kind ~= "nettrace" then
    source:close()
    if kind == nil then return nil, why, reason, hint end
    return nil, source.name .. ": a profile has no times to cut by", "unavailable"
  end
  local cutter <close> = core.cut { from_ns = opts.from, to_ns = opts.to, limit = opts.limit }
  local lacks, lack_code
  local done, failure, failure_code = files.write(path, function(out)
    local ok, words, its = copy(cutter, source, out)
    if not ok then return nil, ("%s: %s"):format(source.name, words), its end
    lacks, lack_code = words, its
    return true
  end)
  source:close()
  if not done then return nil, failure, failure_code end
  return cutter:counts(), lacks and ("%s: %s"):format(source.name, lacks), lack_code
end

return cut
