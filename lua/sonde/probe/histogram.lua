--- Log-linear histograms of latencies: lists of from, to (excluded) and count.
-- @module sonde.probe.histogram
local histogram = {}

--- A quantile. Within a bucket, which is at most an eighth wide, values are
-- taken to be spread evenly.
-- @tparam {integer,...} buckets from, to, count; from, to, count; …
-- @tparam number share 0.5 for the median
-- @tparam integer min the smallest value
-- @tparam integer max the largest value
-- @treturn ?integer nil when there are no values
function histogram.quantile(buckets, share, min, max)
  local total = 0
  for i = 3, #buckets, 3 do total = total + buckets[i] end
  if total == 0 then return nil end
  local rank <const> = math.max(1, math.ceil(share * total))
  local before = 0
  for i = 1, #buckets, 3 do
    local from, to, count = buckets[i], buckets[i + 1], buckets[i + 2]
    if before + count >= rank then
      from, to = math.max(from, min), math.min(to - 1, max)
      local within <const> = (rank - before - 0.5) / count
      return math.floor(from + (to - from) * within + 0.5)
    end
    before = before + count
  end
  return max
end

--- The sum of two histograms.
-- @tparam {integer,...} a
-- @tparam {integer,...} b
-- @treturn {integer,...}
function histogram.merge(a, b)
  local sum, i, j = {}, 1, 1
  local function take(list, at, more)
    table.move({ list[at], list[at + 1], list[at + 2] + (more or 0) }, 1, 3, #sum + 1, sum)
  end
  while a[i] or b[j] do
    if a[i] and a[i] == b[j] then
      take(a, i, b[j + 2])
      i, j = i + 3, j + 3
    elseif b[j] == nil or a[i] and a[i] < b[j] then
      take(a, i)
      i = i + 3
    else
      take(b, j)
      j = j + 3
    end
  end
  return sum
end

return histogram
