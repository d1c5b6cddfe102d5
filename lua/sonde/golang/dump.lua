--- Goroutine dumps as text: what a Go program prints on SIGQUIT, a panic or a
-- fatal error, /debug/pprof/goroutine with debug=1 or debug=2, gops, reports of
-- the race detector, and logs that hold any of these.
-- @module sonde.golang.dump
local dump <const> = require "sonde.dump"
local stream <const> = require "sonde.dump.stream"

local golang = {}

--- Makes a dump of a text.
-- @tparam table source of `sonde.base.input`
-- @tparam table opts of `sonde.open`; `rows = false` keeps no row for each goroutine
-- @treturn ?Dump
-- @treturn ?string message
-- @treturn ?string code
function golang.read(source, opts)
  return dump.read(source, {
    format = "go", limit = opts.limit, progress = opts.progress, reopen = opts.reopen,
    rows = opts.rows ~= false,
  })
end

--- Reads the goroutines of a text one by one.
-- @tparam table source of `sonde.base.input`
-- @tparam table opts `limit`
-- @treturn ?Stream see `sonde.dump.stream`
-- @treturn ?string message
-- @treturn ?string code
function golang.stream(source, opts)
  return stream.new(source, { format = "go", limit = opts.limit })
end

-- Frames of the runtime at both ends are not in every form of dump.
local function is_hidden(frame)
  return frame.elided or frame.func:find("^runtime%.") ~= nil
end

local function key_of(frames)
  local first, last = 1, #frames
  while first <= last and is_hidden(frames[first]) do first = first + 1 end
  while last >= first and is_hidden(frames[last]) do last = last - 1 end
  local lines = {}
  for i = first, last do
    local frame <const> = frames[i]
    lines[#lines + 1] = ("%s\0%s\0%d"):format(frame.func, frame.file or "", frame.line or 0)
  end
  return table.concat(lines, "\n")
end

local function same_labels(a, b)
  for key, value in pairs(a) do
    if b[key] ~= value then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

--- Finds the labels of goroutines, which debug=2 of most Go versions leaves out,
-- in a dump with debug=1 of the same time.
-- @tparam Dump labelled made of debug=1
-- @treturn function gives the labels for a list of frames; nil when there is no
--   such stack there, or goroutines with it have different labels
function golang.labels_of(labelled)
  local known = {}
  for _, group in ipairs(labelled:groups()) do
    local key <const> = key_of(group.frames)
    local total = 0
    for _, row in ipairs(group.labels) do
      total = total + row.count
      if known[key] == nil then
        known[key] = row.labels
      elseif known[key] == false or not same_labels(known[key], row.labels) then
        known[key] = false
      end
    end
    if total < group.count then known[key] = false end
  end
  return function(frames) return known[key_of(frames)] or nil end
end

return golang
