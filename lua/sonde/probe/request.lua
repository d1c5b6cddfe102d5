--- What a request for probes means: which functions, tracepoints and events,
-- of which processes.
-- @module sonde.probe.request
local kernel <const> = require "sonde.probe.kernel"
local limits <const> = require "sonde.probe.limits"
local places <const> = require "sonde.probe.places"
local processes <const> = require "sonde.probe.processes"
local user <const> = require "sonde.probe.user"

local request <const> = {}

-- One pattern may mean much of a system: each probe slows its function down.
local MANY <const> = 5000

local Request <const> = {}
Request.__index = Request

-- A failure on the way: message, code, hint.
local function give_up(message, code, hint)
  error({ message = message, code = code, hint = hint }, 0)
end

local function check(value, message, code, hint)
  if value == nil or value == false then give_up(message, code, hint) end
  return value, message
end

local function check_form(opts)
  for _, name in ipairs { "functions", "kernel" } do
    if opts[name] == "" then
      give_up(("the pattern of %s is empty: it would match everything"):format(name),
        "empty_pattern", "give a regular expression; . matches every name")
    end
  end
  if not (opts.functions or opts.kernel or #(opts.tracepoint or {}) > 0
      or #(opts.perf or {}) > 0) then
    give_up("nothing to probe: no pattern of functions, tracepoint or event", "no_pattern",
      "sonde probe -b PROGRAM -f PATTERN")
  end
  if opts.functions and #(opts.binary or {}) == 0 and #(opts.process or {}) == 0 then
    give_up("functions of which program? none is given", "no_binary",
      "sonde probe -b PROGRAM -f PATTERN")
  end
end

function Request:add(func)
  func.id = #self.functions
  self.functions[func.id + 1] = func
end

-- The files to probe, each once however it was given.
function Request:add_file(path, shown, pid)
  local identity <const> = processes.identity(path) or path
  local file = self.files[identity]
  if file == nil then
    file = { path = path, shown = shown or path, identity = identity, pids = {} }
    self.files[identity], self.files[#self.files + 1] = file, file
  end
  if pid then file.pids[#file.pids + 1] = pid end
end

function Request:find_processes(words)
  local is_known = {}
  for _, word in ipairs(words or {}) do
    for _, pid in ipairs((check(processes.find(word)))) do
      if not is_known[pid] then self.pids[#self.pids + 1] = pid end
      is_known[pid] = true
    end
  end
end

function Request:find_files(binaries)
  local core <const> = require "sonde.c.core"
  for _, name in ipairs(binaries or {}) do
    local path <const> = user.path_of(name)
    local kind, resolved, code = core.path_info(path)
    if kind == nil then give_up(resolved, code) end
    if kind ~= "file" then give_up(path .. ": not a file", "not_found") end
    self:add_file(resolved, path)
    local older <const> = processes.running_older(resolved)
    if #older > 0 then
      self:warn(("%s was replaced: process %d still runs the older file, which these probes do not"
        .. " reach"):format(path, older[1]), ("sonde probe -p %d …"):format(older[1]))
    end
  end
  if #self.files > 0 then return end
  for _, pid in ipairs(self.pids) do
    local shown, path = processes.program(pid)
    if shown == nil then
      local owner <const>, hint = limits.stranger(pid)
      give_up(("process %d%s: its program cannot be looked at"):format(pid,
        owner and " " .. owner or ""), "permission", hint or "run as root")
    end
    self:add_file(path, shown, pid)
  end
end

local GO_LATENCY <const> = "%s is a Go program: its runtime moves stacks and checks the return"
  .. " addresses on them, so no function's latency is taken; counts and stacks are"
local NARROW_LATENCY <const> = "%s is a 32-bit program: its latencies and arguments cannot be"
  .. " taken; counts and stacks can"

local function check_file(file, shown, opts)
  if file.is_go and opts.latency then
    give_up(GO_LATENCY:format(shown), "unavailable", "leave --latency out")
  end
  if file.is_go and opts.arg then
    give_up(("%s is a Go program: its arguments are not where C's are"):format(shown),
      "unavailable", "leave --arg out")
  end
  if file.bits == 32 and (opts.latency or opts.arg) then
    give_up(NARROW_LATENCY:format(shown), "unavailable", "leave --latency and --arg out")
  end
end

-- A pattern need not match in each of several files.
function Request:find_user_functions(opts)
  local misses = {}
  for _, file in ipairs(self.files) do
    local list, found, code, hint = user.find(file.path, opts.functions, file.shown)
    if list == nil then
      if #self.files == 1 or code ~= "not_found" then give_up(found, code, hint) end
      misses[#misses + 1] = found
    else
      check_file(found, file.shown, opts)
      file.elf = found
      for _, func in ipairs(list) do
        func.attach_path, func.identity = file.path, file.identity
        self:add(func)
      end
    end
  end
  if #self.functions == 0 then give_up(table.concat(misses, "\n"), "not_found") end
  for _, miss in ipairs(misses) do self:warn(miss) end
end

function Request:find_others(opts)
  if opts.kernel then
    for _, func in ipairs((check(kernel.find(opts.kernel)))) do self:add(func) end
  end
  for _, name in ipairs(opts.tracepoint or {}) do
    self:add((check(places.tracepoint(name))))
  end
  for _, name in ipairs(opts.perf or {}) do
    self:add((check(places.event(name))))
  end
end

--- Tells something that is incomplete.
-- @tparam string message
-- @tparam ?string hint
function Request:warn(message, hint)
  self.warnings[#self.warnings + 1] = { message = message, hint = hint }
end

local function has_others(self)
  for _, func in ipairs(self.functions) do
    if func.kind ~= "user" then return true end
  end
  return false
end

-- With a program given, what is not a function of it is counted only in the
-- processes that run it. User functions need no such filter: the probe is in
-- the file.
function Request:choose_filter()
  self.by_program = #self.pids == 0 and #self.files > 0 and has_others(self)
  self.filter = #self.pids > 0 or self.by_program
  if not self.by_program then return end
  for _, file in ipairs(self.files) do
    for _, pid in ipairs(processes.running(file.identity)) do self.pids[#self.pids + 1] = pid end
  end
end

local function build(opts)
  check_form(opts)
  local self <const> = setmetatable({ functions = {}, files = {}, pids = {}, warnings = {} },
    Request)
  self:find_processes(opts.process)
  self:find_files(opts.binary)
  if opts.functions then self:find_user_functions(opts) end
  self:find_others(opts)
  if #self.functions > MANY and not opts.yes then
    give_up(("the patterns match %d functions, and probing more than %d slows what it looks at"):
      format(#self.functions, MANY), "limit", "--yes, if that is meant, or a narrower pattern")
  end
  self:choose_filter()
  return self
end

--- Finds what a request means.
-- @tparam table opts of `sonde.probe`
-- @treturn ?Request `functions` (in order of their ids, from 0), `files`, `pids`,
--   `filter`, `by_program`, `warnings`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function request.new(opts)
  local done, result = pcall(build, opts)
  if done then return result end
  if type(result) ~= "table" or result.message == nil or getmetatable(result) then
    error(result, 0)
  end
  return nil, result.message, result.code, result.hint
end

return request
