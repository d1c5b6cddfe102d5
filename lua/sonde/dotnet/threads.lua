--- Which threads of a trace an option names.
-- @module sonde.dotnet.threads
local pattern <const> = require "sonde.base.pattern"
local text <const> = require "sonde.base.text"

local threads = {}

-- A number is an id; made-up names hold ids too, so it is not looked for there.
local function matcher(source)
  if source:find("^%d+$") then
    return function(id) return source == text.unsigned(id) end
  end
  local matches <const> = pattern.matcher(source)
  return function(_, name) return name ~= nil and matches(name) end
end

local function thread_name(row)
  return row.name or ("Thread (%s)"):format(text.unsigned(row.id))
end

--- A byte for each thread of a trace: does it belong to what was asked for?
-- @tparam Trace trace
-- @tparam table opts `thread` (list of ids or patterns of names), `process` (id
--   or pattern)
-- @treturn ?string mask; nil without a message when everything was asked for
-- @treturn ?string message
-- @treturn ?string code `no_samples`
-- @treturn ?string hint
function threads.mask(trace, opts)
  local wanted <const> = opts.thread and #opts.thread > 0 and opts.thread or nil
  if wanted == nil and opts.process == nil then return nil end
  local of_process <const> = opts.process and matcher(opts.process)
  local of_threads, bytes = {}, {}
  for i, source in ipairs(wanted or {}) do of_threads[i] = matcher(source) end
  for i, row in ipairs(trace:threads()) do
    local kept = opts.process == nil
      or row.process ~= nil and of_process(row.process, row.process_name)
    local hit = wanted == nil
    for _, matches in ipairs(of_threads) do
      hit = hit or matches(row.id, thread_name(row))
    end
    bytes[i] = kept and hit and "\1" or "\0"
  end
  local mask <const> = table.concat(bytes)
  if mask:find("\1", 1, true) then return mask end
  local what = wanted and "no thread " .. table.concat(wanted, ", ")
    or "no process " .. opts.process
  return nil, ("%s: %s"):format(trace.name, what), "no_samples",
    "sonde report threads " .. trace.name
end

return threads
