--- CPU profiles as gperftools' own profiler writes them: words of the machine,
-- then its memory map as text.
-- @module sonde.reader.cpu_words
local legacy <const> = require "sonde.reader.legacy"

local cpu_words = {}

-- The four shapes of a word; the head tells which it is.
local SHAPES <const> = { "<I4", ">I4", "<i8", ">i8" }

local HANDLER <const> = "(ProfileData::(Add|prof_handler)|CpuProfiler::prof_handler"
  .. "|__pthread_sighandler|__restore)"

local function head_of(bytes)
  for _, shape in ipairs(SHAPES) do
    local size <const> = string.packsize(shape)
    if #bytes >= size * 5 then
      local zero, three, java, period, padding, at = (shape:rep(5, " ")):unpack(bytes)
      if zero == 0 and three == 3 and java == 0 and period > 0 and padding == 0 then
        return shape, size, period, at
      end
    end
  end
end

-- Calls `use(count, addresses)` for each sample; the place behind the last.
local function each_sample(bytes, shape, size, at, use)
  while at + size * 2 - 1 <= #bytes do
    local count, n = shape:unpack(bytes, at), shape:unpack(bytes, at + size)
    at = at + size * 2
    if n < 0 or n > (#bytes - at + 1) // size then return nil, at end
    local list = {}
    for i = 1, n do list[i], at = shape:unpack(bytes, at) end
    if count == 0 and n == 1 and list[1] == 0 then return at end
    use(count, list)
  end
  return nil, at
end

--- Reads a file.
-- @tparam string bytes
-- @treturn ?Profile sample types `samples` and `cpu`
-- @treturn ?string message
-- @treturn ?string code `malformed`, `truncated`
function cpu_words.read(bytes)
  local shape, size, period, at = head_of(bytes)
  if shape == nil then return nil, "not a CPU profile of gperftools", "malformed" end
  local samples = {}
  local behind, where = each_sample(bytes, shape, size, at, function(count, list)
    for i = 2, #list do list[i] = list[i] - 1 end
    -- The signal's own frame is there twice at times.
    if #list > 1 and list[1] == list[2] + 1 then table.remove(list, 2) end
    samples[#samples + 1] = { list, { count, count * period * 1000 } }
  end)
  if behind == nil then
    return nil, ("the samples end early at byte %d"):format(where - 1), "truncated"
  end
  return legacy.build(samples, bytes:sub(behind), {
    { "samples", "count" }, { "cpu", "nanoseconds" } }, {
    period = period * 1000, period_type = { "cpu", "nanoseconds" },
    drop_frames = HANDLER,
  })
end

return cpu_words
