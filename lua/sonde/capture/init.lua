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
local kind <const> = require "sonde.capture.kind"
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"
local proc <const> = require "sonde.process.proc"
local stores <const> = require "sonde.capture.store"
local transport <const> = require "sonde.capture.transport"
local tree <const> = require "sonde.process.tree"
local uv <const> = require "sonde.base.uv"

local capture = {}

local SECOND <const> = 1000000000
local MS <const> = 1000000

-- Processes that are looked into at the same time.
local AT_ONCE <const> = 16

--- Options of `sonde.capture`.
capture.options = {
  { name = "root", type = "integer", default = 0, min = 0,
    help = "the process whose tree is captured; 0 is this one" },
  { name = "id", type = "string", help = "goes on with the capture of this id" },
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
  return ("%s-%06x%04x"):format(os.date "!%Y%m%dT%H%M%S", math.random(0, 0xffffff),
    counter & 0xffff)
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

local function register(self)
  return self.store:capture { id = self.id, root_pid = self.root, service = self.opts.service,
    root_key = ("%d:%d"):format(self.root, self.tree.start_time), host = uv.os_gethostname(),
    started_at = not self.resumed and now_ns() or nil, kinds = self.opts.kinds }
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
  local known, message, code = check_kinds(opts.kinds)
  if not known then return nil, message, code end
  local hint
  local root <const> = opts.root == 0 and uv.os_getpid() or opts.root
  local self <const> = setmetatable({ opts = opts, root = root, id = opts.id or new_id(),
    resumed = opts.id ~= nil, n = 0, records = 0, failures = 0, ended = {},
    transports = transports or transport.default(opts.addresses) }, Capture)
  self.tree, message, code = tree.new(root)
  if self.tree == nil then return nil, message, code, "sonde ps" end
  self.owns_store = type(store) == "string"
  self.store = store
  if self.owns_store then
    self.store, message, code, hint = stores.open(store)
    if self.store == nil then return nil, message, code, hint end
  end
  known, message, code = register(self)
  if not known then
    self:close()
    return nil, message, code
  end
  return self
end

-- The runtime decides what a kind has of a process; it is looked up once.
local function runtime_of(self, row)
  self.runtimes = self.runtimes or {}
  local known <const> = self.runtimes[row.key]
  if known then return known end
  local runtime = "native"
  if require("sonde.dotnet.target").of_pid(row.pid) then
    runtime = "dotnet"
  elseif require("sonde.golang.buildinfo").of_pid(row.pid) then
    runtime = "go"
  end
  self.runtimes[row.key] = runtime
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

local function context_of(self, params)
  local deadline <const> = loop.after(params.timeout)
  return {
    transports = self.transports, checkpoint = new_id(), now = now_ns,
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

-- A kind's work on a process. What goes wrong with one is a record of it.
local function take_one(module, context, process, params)
  local done <const>, parts <const>, message <const> = pcall(module.take, context, process, params)
  if not done then
    if tostring(parts):find("interrupted!", 1, true) then error(parts, 0) end
    return failure(module, process, tostring(parts))
  end
  return parts or failure(module, process, message)
end

-- All processes at the same time, as many as there are workers, under one deadline.
local function take_all(module, context, processes, params)
  local results, next_one, tasks = {}, 0, {}
  for i = 1, math.min(AT_ONCE, #processes) do
    tasks[i] = loop.task(function()
      while next_one < #processes do
        next_one = next_one + 1
        local at <const> = next_one
        results[at] = take_one(module, context, processes[at], params)
      end
    end)
  end
  for _, task in ipairs(tasks) do
    local joined <const> = task:join(context.deadline + SECOND)
    if not joined then task:cancel "the checkpoint's time is over" end
  end
  local parts = {}
  for i, process in ipairs(processes) do
    local taken <const> = results[i] or failure(module, process, "it did not answer in time")
    table.move(taken, 1, #taken, #parts + 1, parts)
  end
  return parts
end

local function offered(module, processes)
  if module.offers == nil then return processes end
  local list = {}
  for _, process in ipairs(processes) do
    if module.offers(process) then list[#list + 1] = process end
  end
  return list
end

local function parts_of(self, module, params)
  local context <const> = context_of(self, params)
  if module.of_tree then return module.take(context, nil, params), context end
  local processes, message, code = processes_of(self, params)
  if processes == nil then return nil, message, code end
  -- Of a whole tree those are taken that the kind has something of; one that was
  -- named is looked into in any case, and why it failed is told.
  if params.tree then processes = offered(module, processes) end
  return take_all(module, context, processes, params), context
end

local function count(self, parts)
  local failed, first = 0, nil
  for _, part in ipairs(parts) do
    if part.error then
      failed, first = failed + 1, first or part.error
    end
    self.records = self.records + (part.profile and #part.profile
      or type(part.records) == "table" and #part.records or 1)
  end
  self.failures = self.failures + failed
  return failed, first
end

--- Marks a checkpoint.
-- @tparam ?table given see `sonde.capture.kind`: `kind key pid tree reason timeout`
--   and what the kind takes
-- @treturn ?table `id kind parts failed` (how many parts are failures) `error` (of
--   the first)
-- @treturn ?string message
-- @treturn ?string code
function Capture:checkpoint(given)
  given = given or {}
  local module, message, code = kind.get(given.kind or self.opts.kinds[1])
  if module == nil then return nil, message, code end
  local params
  params, message, code = kind.validate(module, given)
  if params == nil then return nil, message, code end
  self:refresh()
  local parts, context, reason = parts_of(self, module, params)
  if parts == nil then return nil, context, reason end
  local failed <const>, first <const> = count(self, parts)
  local written, why, kept = self.store:write { capture = self.id, parts = parts,
    checkpoint = { id = context.checkpoint, taken_at = now_ns(), reason = params.reason } }
  if not written then return nil, why, kept end
  self.n = self.n + 1
  return { id = context.checkpoint, kind = module.name, parts = #parts, failed = failed,
    error = first }
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

--- Ends the capture. It can be gone on with by its id.
-- @treturn ?boolean true
-- @treturn ?string message: what could not be written yet is lost
-- @treturn ?string code
function Capture:close()
  if self.closed or self.store == nil then return true end
  self.closed = true
  local done, message, code = self.store:capture { id = self.id, ended_at = now_ns() }
  if self.owns_store then self.store:close() end
  if not done then return nil, message, code end
  return true
end

Capture.__close = Capture.close

function Capture:__tostring()
  return ("capture %s of process %d: %d checkpoints, %d records"):format(self.id, self.root, self.n,
    self.records)
end

return capture
