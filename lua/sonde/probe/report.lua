--- What probes have counted: functions by hits and by latency, their stacks,
-- groups, and what was lost.
-- @module sonde.probe.report
local frames <const> = require "sonde.probe.frames"
local histogram <const> = require "sonde.probe.histogram"
local open_calls <const> = require "sonde.probe.open_calls"

local report = {}

local EEXIST <const> = -17   -- the table of stacks had no place for it

local Function <const> = {}
Function.__index = Function

local Report <const> = {}
Report.__index = Report

-- Figures that follow from what was counted.
local function add_figures(measure)
  if measure.histogram and measure.returns > 0 then
    measure.mean_ns = (measure.total_ns + measure.returns // 2) // measure.returns
    local function quantile(share)
      return histogram.quantile(measure.histogram, share, measure.min_ns, measure.max_ns)
    end
    measure.p50_ns, measure.p90_ns = quantile(0.5), quantile(0.9)
    measure.p99_ns = quantile(0.99)
  end
  return measure
end

local function function_of(self, run, func)
  local made <const> = setmetatable(add_figures(run:measure(func.id)), Function)
  made.id, made.type = func.id, func.kind == "user" and "user" or "kernel"
  made.kind, made.name, made.raw = func.kind, func.name, func.raw or func.name
  made.binary, made.offset, made.address = func.binary, func.offset, func.address
  made.size, made.no_latency, made.lost = func.size, func.no_latency, 0
  made.stacks, made.report = {}, self
  return made
end

local function read_functions(self, probe)
  local flying <const> = self.latency and open_calls.in_flight(probe.run) or {}
  for _, func in ipairs(probe.functions) do
    local made <const> = function_of(self, probe.run, func)
    if self.latency then
      made.in_flight = flying[func.id] or 0
      made.missed_returns = math.max(0, made.count - made.returns - made.in_flight)
      if not made.no_latency then made.lost = made.missed_returns end
    end
    self.by_id[func.id] = made
    self.all[#self.all + 1] = made
  end
end

-- The program that was run: by the stage, if the stack has one.
local function binary_of(probe, row, stage)
  if stage and stage.program then return stage.program end
  local stages <const> = probe.seen:of(row.pid)
  return stages[1] and stages[#stages].program or nil
end

-- A number for each different text.
local function number_of(numbers, key)
  local number = numbers[key]
  if number == nil then
    number, numbers.n = numbers.n, numbers.n + 1
    numbers[key] = number
  end
  return number
end

-- Stacks of several processes of a program are one when their names are the same.
local function number_of_frame(numbers, frame)
  frame.number = frame.number
    or number_of(numbers, ("%s\1%s\1%d"):format(frame.name, frame.file, frame.offset))
  return frame.number
end

-- Stacks are a tree of frames, the outermost first, whose nodes are numbers: a table
-- has the child of each by its own number and the frame's.
local FRAME_BITS <const> = 31

local function child_of(tree, node, number)
  local key <const> = node << FRAME_BITS | number
  local child = tree[key]
  if child == nil then
    child = tree.n + 1
    tree.n, tree[key] = child, child
  end
  return child
end

local function node_of(self, node, list)
  local tree <const>, numbers <const> = self.tree, self.numbers
  for i = #list, 1, -1 do
    node = child_of(tree, node, number_of_frame(numbers, list[i]))
  end
  return node
end

-- Counts of stacks on one side: collected, and those that found no place.
local function count_side(counts, side, id, n)
  if id >= 0 then
    counts[side] = counts[side] + n
  elseif id == EEXIST then
    counts["lost_" .. side] = counts["lost_" .. side] + n
    return n
  end
  return 0
end

-- Stands between the frames of a process and those of the kernel.
local KERNEL <const> = 0

local function add_stack(self, func, row, user, kernel, binary)
  local program <const> = number_of(self.numbers, binary or "")
  local node = child_of(self.tree, child_of(self.tree, 0, func.id + 1), program)
  node = node_of(self, node, user)
  if #kernel > 0 then node = node_of(self, child_of(self.tree, node, KERNEL), kernel) end
  local stack = self.at_node[node]
  if stack == nil then
    stack = { count = 0, total_ns = 0, returns = 0, user = user, kernel = kernel, binary = binary,
      pids = {}, func = func }
    self.at_node[node] = stack
    func.stacks[#func.stacks + 1] = stack
  end
  stack.count = stack.count + row.count
  if row.returns then
    stack.returns = stack.returns + row.returns
    stack.total_ns = stack.total_ns + row.total_ns
  end
  stack.pids[row.pid] = (stack.pids[row.pid] or 0) + row.count
end

local function by_count(a, b)
  if a.count ~= b.count then return a.count > b.count end
  return a.order < b.order
end

-- A process that nobody could look at may have what its parent had, so all others are
-- looked up before.
local function know_processes(probe, rows)
  local is_known = {}
  for _, row in ipairs(rows) do
    if not is_known[row.pid] then probe.seen:of(row.pid) end
    is_known[row.pid] = true
  end
end

local function read_stacks(self, probe, rows)
  know_processes(probe, rows)
  self.numbers, self.tree, self.at_node = { n = 1 }, { n = 0 }, {}
  for _, row in ipairs(rows) do
    local func <const> = self.by_id[row.id]
    local user <const>, kernel <const>, stage <const> = frames.of(probe, row)
    add_stack(self, func, row, user, kernel, binary_of(probe, row, stage))
    func.lost = func.lost + count_side(self.counts, "user", row.user, row.count)
    func.lost = func.lost + count_side(self.counts, "kernel", row.kernel, row.count)
  end
  self.numbers, self.tree, self.at_node = nil, nil, nil
  for _, func in ipairs(self.all) do
    for i, stack in ipairs(func.stacks) do stack.order = i end
    table.sort(func.stacks, by_count)
    for _, stack in ipairs(func.stacks) do
      stack.id = #self.stacks
      self.stacks[stack.id + 1] = stack
    end
  end
end

local function read_groups(self, probe)
  for _, group in ipairs(probe.run:groups()) do
    local func <const> = self.by_id[group.id]
    add_figures(group)
    group.name, group.binary, group.func = func.name, func.binary, func
    local stages <const> = group.pid and probe.seen:of(group.pid) or {}
    group.process = stages[1] and stages[#stages].name or nil
    self.groups[#self.groups + 1] = group
  end
  table.sort(self.groups, function(a, b)
    if a.count ~= b.count then return a.count > b.count end
    if a.id ~= b.id then return a.id < b.id end
    if a.pid ~= b.pid then return (a.pid or 0) < (b.pid or 0) end
    if a.tid ~= b.tid then return (a.tid or 0) < (b.tid or 0) end
    return tostring(a.arg) < tostring(b.arg)
  end)
end

-- What was lost, by cause, as text for people too.
local MEANINGS <const> = {
  { "rows", "hits whose stack had no place to be counted", "max_stacks" },
  { "starts", "calls whose beginning had no place to be kept", "max_calls" },
  { "groups", "hits whose group had no place to be counted", "max_groups" },
  { "hits", "single hits that were not fetched in time", "max_hits" },
  { "skipped", "hits that the kernel left out, as a probe of ours ran there already" },
}

local function read_losses(self, probe)
  self.lost = probe.run:lost()
  self.lost.user_stacks, self.lost.kernel_stacks = self.counts.lost_user, self.counts.lost_kernel
  self.lost.returns = 0
  for _, func in ipairs(self.all) do
    if not func.no_latency then
      self.lost.returns = self.lost.returns + (func.missed_returns or 0)
    end
  end
end

--- Builds the report of probes that are stopped.
-- @tparam Probe probe
-- @tparam {table,...} rows of stacks
-- @treturn Report `duration_ns`, `latency`, `groups`, `failed` (list of `func role
--   message errno`), `lost` (by cause), `warnings`, `missing` (what names of stacks
--   are missing, and why: texts)
function report.of(probe, rows)
  local self <const> = setmetatable({
    duration_ns = probe.duration_ns, started_at = probe.started_at,
    latency = probe.opts.latency or false, has_stacks = probe.opts.stacks or false, by_id = {},
    all = {}, stacks = {}, groups = {}, failed = probe.failed, warnings = probe.warnings,
    rung = probe.rung, counts = { user = 0, kernel = 0, lost_user = 0, lost_kernel = 0 },
  }, Report)
  read_functions(self, probe)
  if self.has_stacks then read_stacks(self, probe, rows) end
  read_groups(self, probe)
  read_losses(self, probe)
  self.missing = probe.resolver:problems()
  local unseen <const> = probe.seen:problems()
  table.move(unseen, 1, #unseen, #self.missing + 1, self.missing)
  return self
end

--- A function by its id.
-- @tparam integer id
-- @treturn ?Function `id type kind name raw binary count`, with latency `returns
--   mean_ns min_ns max_ns p50_ns p90_ns p99_ns total_ns histogram in_flight
--   missed_returns`, `lost`; nil when there is no such id
function Report:func(id)
  return self.by_id[id]
end

local function by_hits(func) return func.count end
local function by_latency(func) return func.mean_ns or -1 end

local function sort(list, better)
  table.sort(list, function(a, b)
    local x <const>, y <const> = better(a), better(b)
    if x ~= y then return x > y end
    if a.count ~= b.count then return a.count > b.count end
    return a.id < b.id
  end)
  return list
end

local function sorted(self, all, better)
  local list = {}
  for _, func in ipairs(self.all) do
    if all or func.count > 0 then list[#list + 1] = func end
  end
  return sort(list, better)
end

--- The functions, the most hit first.
-- @tparam ?boolean all also those that were not hit
-- @treturn {Function,...}
function Report:functions(all)
  return sorted(self, all, by_hits)
end

--- The functions, those of the longest calls first.
-- @tparam ?boolean all also those that were not hit
-- @treturn {Function,...}
function Report:functions_by_latency(all)
  return sorted(self, all, by_latency)
end

-- What a program had the kernel do: the hits of each of the kernel's functions
-- that came from it.
local function shares_of(func)
  local shares = {}
  for _, stack in ipairs(func.stacks) do
    if stack.binary and #stack.user > 0 then
      local share = shares[stack.binary]
      if share == nil then
        share = { count = 0, returns = 0, total_ns = 0 }
        shares[stack.binary], shares[#shares + 1] = share, stack.binary
      end
      share.count = share.count + stack.count
      share.returns = share.returns + stack.returns
      share.total_ns = share.total_ns + stack.total_ns
    end
  end
  return shares
end

-- A function of the kernel as one program had it: with that one's figures.
local function share_of(func, share)
  local mean <const> = share.returns > 0 and share.total_ns // share.returns or nil
  return setmetatable({ count = share.count, returns = share.returns, total_ns = share.total_ns },
    { __index = function(_, name)
      if name == "mean_ns" then return mean end
      return func[name]
    end })
end

-- Lists by binary, in the order in which binaries come up.
local function per_binary(list, better)
  local groups, at = {}, {}
  local function add(binary, func)
    local group = at[binary]
    if group == nil then
      group = { binary = binary, functions = {} }
      at[binary], groups[#groups + 1] = group, group
    end
    group.functions[#group.functions + 1] = func
  end
  for _, func in ipairs(list) do
    add(func.binary, func)
    local shares <const> = func.kind ~= "user" and shares_of(func) or {}
    for _, binary in ipairs(shares) do add(binary, share_of(func, shares[binary])) end
  end
  for _, group in ipairs(groups) do sort(group.functions, better) end
  return groups
end

--- The functions of each binary, the most hit first. A function of the kernel
-- is also listed below each program that it worked for, with the hits and the
-- mean of that one, when stacks were taken.
-- @treturn {table,...} `binary`, `functions`
function Report:by_hits()
  return per_binary(self:functions(), by_hits)
end

--- The same in order of latency.
-- @treturn {table,...}
function Report:by_latency()
  return per_binary(self:functions_by_latency(), by_latency)
end

--- How many stacks were collected and lost, on each side.
-- @treturn table `user kernel lost_user lost_kernel`
function Report:stack_counts()
  return self.counts
end

--- A stack by its id.
-- @tparam integer id
-- @treturn ?table `id count returns total_ns user kernel binary pids func`; the
--   frames are innermost first: `type name function_id offset address file`
function Report:stack(id)
  return self.stacks[id + 1]
end

--- What was lost, in words.
-- @treturn {string,...}
function Report:losses()
  local list = {}
  local function add(n, what, option)
    if n > 0 then
      list[#list + 1] = ("%d %s%s"):format(n, what,
        option and (" (%s)"):format("--" .. option:gsub("_", "-")) or "")
    end
  end
  add(self.lost.user_stacks, "user stacks that had no place in the table", "max_stacks")
  add(self.lost.kernel_stacks, "kernel stacks that had no place in the table", "max_stacks")
  for _, row in ipairs(MEANINGS) do add(self.lost[row[1]] or 0, row[2], row[3]) end
  add(self.lost.returns, "returns that the kernel did not show")
  return list
end

--- The stacks of a function, the most hit first.
-- @treturn {table,...} as of `Report:stack`
function Function:stacks_by_hits()
  return table.move(self.stacks, 1, #self.stacks, 1, {})
end

--- One of its stacks, by id.
-- @tparam integer id
-- @treturn ?table
function Function:stack(id)
  local stack <const> = self.report:stack(id)
  return stack and stack.func == self and stack or nil
end

function Function:__tostring()
  return ("%s: %d hits"):format(self.name, self.count)
end

--- All of it as a profile, for every report and format there is.
-- @treturn Profile sample types `hits count`, with latency `time nanoseconds`
function Report:profile()
  return require("sonde.probe.profile").of(self)
end

--- The graph of calls for Graphviz, as utrace draws it.
-- @treturn string
function Report:graph()
  return require("sonde.probe.graph").of(self)
end

function Report:__tostring()
  return ("report of probes: %d functions hit in %.3f s"):format(#self:functions(),
    self.duration_ns / 1e9)
end

return report
