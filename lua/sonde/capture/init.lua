--- Captures: what the processes of a tree do, checkpoint by checkpoint, kept in a
-- store under one id.
--
--    local capture = assert(sonde.capture{ root = 4242, store = "captures.db" })
--    assert(capture:checkpoint{ kind = "stacks", reason = "manual" })
--    assert(capture:checkpoint{ kind = "goprof", profile = { "heap" }, tree = true })
--    capture:close()
--
-- A checkpoint is acknowledged when it returns true: then it survives whatever
-- becomes of us.
-- @module sonde.capture
local batch <const> = require "sonde.capture.store.batch"
local errors <const> = require "sonde.base.errors"
local kind <const> = require "sonde.capture.kind"
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"
local proc <const> = require "sonde.process.proc"
local stores <const> = require "sonde.capture.store"
local transport <const> = require "sonde.capture.transport"
local tree <const> = require "sonde.process.tree"
local unique <const> = require "sonde.base.unique"
local uv <const> = require "sonde.base.uv"

local capture = {}

local SECOND <const> = 1000000000
local MS <const> = 1000000

-- Processes that are looked into at the same time.
local AT_ONCE <const> = 16

--- Options of `sonde.capture`.
capture.options = {
  { name = "root", type = "integer", default_text = "0", min = 0,
    help = "the process whose tree is captured; 0 is this one" },
  { name = "id", type = "string",
    help = "goes on with the capture of this id, of the same root when none is given" },
  { name = "service", type = "string", help = "a name to find it by" },
  { name = "kinds", type = "string", many = true, default = { "stacks" },
    help = "what checkpoints record that name no kind" },
  { name = "addresses", type = "table",
    help = "functions pprof(pid) and gops(pid): where a process answers" },
}

local Capture <const> = {}
Capture.__index = Capture
Capture.__name = "sonde.capture"

local function now_ns()
  local seconds <const>, micros <const> = uv.gettimeofday()
  return seconds * SECOND + micros * 1000
end

local counter = 0

-- In order of time when sorted, and unlike that of any other process.
local function new_id()
  counter = counter + 1
  return ("%s-%s%04x"):format(os.date "!%Y%m%dT%H%M%S", unique.hex(5), counter & 0xffff)
end

-- What `sonde.capture` gets beside the declared options: a store or its path, and
-- a registry of transports.
local function split(given)
  local declared = {}
  for name, value in pairs(given or {}) do
    if name ~= "store" and name ~= "transports" then declared[name] = value end
  end
  local store <const> = given and given.store or os.getenv "SONDE_STORE" or "captures.db"
  return declared, store, given and given.transports
end

local function check_kinds(names)
  for _, name in ipairs(names) do
    local module, message, code = kind.get(name)
    if module == nil then return nil, message, code end
  end
  return true
end

local function register(self, known)
  -- An end that was noted before is none any more.
  return self.store:capture { id = self.id, root_pid = self.root, service = self.opts.service,
    root_key = ("%d:%d"):format(self.root, self.tree.start_time), host = uv.os_gethostname(),
    started_at = not known and now_ns() or nil, ended_at = known and 0 or nil,
    kinds = self.opts.kinds }
end

-- What the store has of the capture that an id goes on with.
local function find_known(self)
  if self.opts.id == nil then return nil end
  local list <const>, message <const>, code <const> = errors.returned(self.store.captures,
    self.store)
  if list == nil then return nil, message, code end
  for _, row in ipairs(list) do
    if row.id == self.opts.id then return row end
  end
end

-- The root, and whether it is still the one that the capture was begun with.
local function find_root(self, known)
  local pid = self.opts.root or known and known.root_pid or 0
  if pid == 0 then pid = uv.os_getpid() end
  local message, code
  self.root = pid
  self.tree, message, code = tree.new(pid)
  if self.tree == nil then return nil, message, code, "sonde ps" end
  local stat <const> = proc.stat(pid)
  if stat == nil or stat.state == "Z" then
    return nil, ("process %d has ended"):format(pid), "not_found", "sonde ps"
  end
  local key <const> = ("%d:%d"):format(pid, self.tree.start_time)
  if known and known.root_pid == pid and known.root_key and known.root_key ~= key then
    return nil, ("process %d is another one than that of capture %s: the number was given again")
      :format(pid, self.id), "not_found", "a new capture, without an id"
  end
  return true
end

local function begin(self)
  local known <const>, wrong <const>, why <const> = find_known(self)
  if wrong then return nil, wrong, why end
  local found, message, code, hint = find_root(self, known)
  if not found then return nil, message, code, hint end
  return register(self, known)
end

--- Opens a capture: `sonde.capture`.
-- @tparam ?table given see `capture.options`; also `store` (a path or an open
--   store; $SONDE_STORE or captures.db) and `transports` (see
--   `sonde.capture.transport`)
-- @treturn ?Capture
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function capture.open(given)
  local declared, store, transports = split(given)
  local opts <const> = options.check(capture.options, declared, "sonde.capture")
  local done, message, code = check_kinds(opts.kinds)
  if not done then return nil, message, code end
  local hint
  local self <const> = setmetatable({ opts = opts, id = opts.id or new_id(), n = 0, records = 0,
    failures = 0, ended = {}, tasks = {}, owns_store = type(store) == "string", store = store,
    transports = transports or transport.default(opts.addresses) }, Capture)
  if self.owns_store then
    self.store, message, code, hint = stores.open(store)
    if self.store == nil then return nil, message, code, hint end
  end
  done, message, code, hint = begin(self)
  if done then return self end
  self.closed = true
  if self.owns_store then self.store:close() end
  return nil, message, code, hint
end

-- A process that is this young may yet become another program, or show its runtime.
local SETTLED <const> = 15 * SECOND

-- The runtime decides what a kind has of a process; it is looked up once.
local function runtime_of(self, row)
  self.runtimes = self.runtimes or {}
  local known <const> = self.runtimes[row.key]
  if known then return known end
  local stat <const> = proc.stat(row.pid)
  local runtime <const> = stat and require("sonde.targets").runtime_of(stat) or "native"
  local age <const> = now_ns() - proc.started_at(row.start_time) * SECOND
  if runtime ~= "native" or age > SETTLED then self.runtimes[row.key] = runtime end
  return runtime
end

local function process_of(self, row)
  return { key = row.key, pid = row.pid, name = row.name, start = row.start_time,
    runtime = runtime_of(self, row) }
end

-- The processes of a checkpoint. One that a key or a dump speaks of may be gone.
local function processes_of(self, params)
  local rows <const> = self.tree:rows()
  if params.tree then
    local list = {}
    for i, row in ipairs(rows) do list[i] = process_of(self, row) end
    return list
  end
  if params.key == nil and params.pid == nil then params.pid = self.root end
  for _, row in ipairs(rows) do
    if row.key == params.key or params.key == nil and row.pid == params.pid then
      return { process_of(self, row) }
    end
  end
  local pid <const> = params.pid or math.tointeger(tonumber((params.key or ""):match "^(%d+):"))
  if pid == nil then
    return nil, ("'%s' is no key pid:start_time"):format(params.key), "malformed"
  end
  if params.dump or params.source == "file" then
    return { { key = params.key or tostring(pid), pid = pid, runtime = "go" } }
  end
  return nil, ("process %s is not in the tree of process %d"):format(params.key or pid, self.root),
    "not_found"
end

local function context_of(self, module, params)
  local deadline <const> = loop.after(params.timeout + (module.takes and module.takes(params) or 0))
  return {
    transports = self.transports, checkpoint = new_id(), now = now_ns, taken_at = now_ns(),
    rows = self.tree:rows(), ended = self.ended,
    directory = self.store.directory and self.store:directory() or ".",
    left = function() return math.max(MS, deadline - loop.now()) end,
    deadline = deadline,
    address = function(source, pid)
      local own <const> = self.opts.addresses and self.opts.addresses[source]
      if own then return own(pid) end
      return require("sonde.golang.sources")[source](pid)
    end,
  }
end

local function failure(module, process, message)
  return { { kind = module.name, key = process.key, pid = process.pid, error = message } }
end

-- Whether the number still is, or last was, that of the process that was meant.
local function is_same(process)
  local stat <const> = process.start and proc.stat(process.pid)
  return not stat or stat.start_time == process.start
end

-- A kind's work on a process. What goes wrong with one is a record of it.
local function take_one(module, context, process, params)
  local done <const>, parts <const>, message <const> = errors.pcall(module.take, context, process,
    params)
  if not done then return failure(module, process, tostring(parts)) end
  if not is_same(process) then
    return failure(module, process, "the process ended, and its number was given to another")
  end
  return parts or failure(module, process, message)
end

-- Parts of a checkpoint that wait for the store: a tree of any size takes so much
-- memory of ours, and what exceeds it is written before the rest is there.
local MOST_WAITING <const> = 64 << 20

local function write(self, out)
  if #out.parts == 0 and out.batches > 0 then return end
  local parts <const> = out.parts
  out.parts, out.size, out.batches = {}, 0, out.batches + 1
  local done, message, code, kept = self.store:write { capture = self.id, parts = parts,
    checkpoint = { id = out.context.checkpoint, taken_at = out.context.taken_at,
      reason = out.reason } }
  if not done then out.refused = out.refused or { message, code, kept } end
end

local function count(self, out, part)
  out.n = out.n + 1
  if part.error then
    out.failed, out.first = out.failed + 1, out.first or part.error
    self.failures = self.failures + 1
  end
  self.records = self.records + (part.profile and #part.profile
    or type(part.records) == "table" and #part.records or 1)
end

local function put(self, out, parts)
  for _, part in ipairs(parts) do
    count(self, out, part)
    out.parts[#out.parts + 1] = part
  end
  out.size = out.size + batch.size { parts = parts }
  if out.size > MOST_WAITING then write(self, out) end
end

-- All processes at the same time, as many as there are workers, under one deadline.
local function take_all(self, module, out, processes, params)
  local next_one, answered <const> = 0, {}
  for i = 1, math.min(AT_ONCE, #processes) do
    self.tasks[i] = loop.task(function()
      while next_one < #processes and not self.canceled do
        next_one = next_one + 1
        local at <const> = next_one
        local parts <const> = take_one(module, out.context, processes[at], params)
        if not out.over then
          answered[at] = true
          put(self, out, parts)
        end
      end
    end)
  end
  for _, task in ipairs(self.tasks) do
    local joined <const> = task:join(out.context.deadline + SECOND)
    if not joined then task:cancel "the checkpoint's time is over" end
  end
  out.over, self.tasks = true, {}
  for i, process in ipairs(processes) do
    if not answered[i] then
      put(self, out, failure(module, process, self.canceled or "it did not answer in time"))
    end
  end
end

local function offered(module, processes)
  if module.offers == nil then return processes end
  local list = {}
  for _, process in ipairs(processes) do
    if module.offers(process) then list[#list + 1] = process end
  end
  return list
end

local function take(self, module, out, params)
  if module.of_tree then
    put(self, out, module.take(out.context, nil, params))
    -- Who has ended is told once.
    self.ended = {}
    return true
  end
  local processes, message, code = processes_of(self, params)
  if processes == nil then return nil, message, code end
  -- Of a whole tree those are taken that the kind has something of; one that was
  -- named is looked into in any case, and why it failed is told.
  if params.tree then processes = offered(module, processes) end
  take_all(self, module, out, processes, params)
  return true
end

--- Marks a checkpoint.
-- @tparam ?table given see `sonde.capture.kind`: `kind key pid tree reason timeout`
--   and what the kind takes
-- @treturn ?table `id kind parts failed` (how many parts are failures) `error` (of
--   the first)
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?boolean whether the store keeps it in memory and tries again
function Capture:checkpoint(given)
  given = given or {}
  local module, message, code = kind.get(given.kind or self.opts.kinds[1])
  if module == nil then return nil, message, code end
  local params
  params, message, code = kind.validate(module, given)
  if params == nil then return nil, message, code end
  self:refresh()
  self.canceled = nil
  local out <const> = { context = context_of(self, module, params), reason = params.reason,
    parts = {}, size = 0, batches = 0, n = 0, failed = 0 }
  local done, why, reason = take(self, module, out, params)
  if not done then return nil, why, reason end
  write(self, out)
  if out.refused then return nil, table.unpack(out.refused, 1, 3) end
  self.n = self.n + 1
  return { id = out.context.checkpoint, kind = module.name, parts = out.n, failed = out.failed,
    error = out.first }
end

--- Ends the checkpoint that runs in another task, or in a callback's reach: what came
-- until now is kept, and who has not answered is recorded so.
-- @tparam ?string message
function Capture:cancel(message)
  self.canceled = message or "canceled"
  for _, task in ipairs(self.tasks) do task:cancel(self.canceled) end
end

--- Looks who is in the tree now. Called by every checkpoint.
-- @treturn {table,...} processes that came
-- @treturn {table,...} processes that ended
function Capture:refresh()
  local started <const>, ended <const> = self.tree:refresh()
  for _, row in ipairs(ended) do self.ended[#self.ended + 1] = row end
  return started, ended
end

--- Is the root still there?
-- @treturn boolean
function Capture:is_alive()
  local stat <const> = proc.stat(self.root)
  return stat ~= nil and stat.start_time == self.tree.start_time and stat.state ~= "Z"
end

--- Ends the capture: what waits in memory is written, and the store closed when it
-- was opened here. It can be gone on with by its id.
-- @treturn ?boolean true
-- @treturn ?string message: what could not be written until now is lost
-- @treturn ?string code
function Capture:close()
  if self.closed then return true end
  self.closed = true
  local done, message, code = self.store:flush()
  if done then done, message, code = self.store:capture { id = self.id, ended_at = now_ns() } end
  local waiting <const> = self.store:waiting()
  if self.owns_store then self.store:close() end
  if done then return true end
  if waiting > 0 then message = ("%s; %d batches are lost"):format(message, waiting) end
  return nil, message, code
end

Capture.__close = Capture.close

function Capture:__tostring()
  return ("capture %s of process %d: %d checkpoints, %d records"):format(self.id, self.root, self.n,
    self.records)
end

return capture
