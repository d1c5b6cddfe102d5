--- A trace that tells only pseudonyms: what stands between the Trace object and
-- the bindings that read the file redacts every answer.
-- @module sonde.redact.trace
local trace = {}

local function redact_method(r, row, module)
  row.namespace, row.name = r:method(row.namespace or "", row.name or "", module)
  if row.signature then row.signature = r:type_name(row.signature) end
end

local function each(list, change)
  for _, row in ipairs(list) do change(row) end
  return list
end

-- The module's path of each module's id.
local function module_paths(self)
  if self.paths == nil then
    self.paths = {}
    for _, row in ipairs(self.core:modules()) do
      local path <const> = row.il_path ~= "" and row.il_path or row.native_path
      self.paths[row.id] = path or ""
    end
  end
  return self.paths
end

local function field(name, redact)
  return function(row, r)
    if row[name] then row[name] = redact(r, row[name]) end
  end
end

local function path(r, text) return r:path(text) end
local function thread(r, text) return r:thread(text) end

-- What is done to each row of a listing of the core.
local ROWS <const> = {
  threads = { field("name", thread), field("process_name", thread) },
  processes = { field("name", thread) },
  losses = { field("thread_name", thread) },
  modules = { field("il_path", path), field("native_path", path) },
  assemblies = { field("name", function(r, text) return r:assembly(text) end) },
  exceptions = {
    field("type", function(r, text) return r:type_name(text) end),
    field("message", function(r, text) return r:text(text) end),
  },
  types = { function(row, r)
    local provider <const> = row.provider or ""
    if row.name then row.name = r:provider(row.name, provider) end
    if row.provider then row.provider = r:provider(provider) end
  end },
}

local Core <const> = {}

for name, changes in pairs(ROWS) do
  Core[name] = function(self)
    return each(self.core[name](self.core), function(row)
      for _, change in ipairs(changes) do change(row, self.redactor) end
    end)
  end
end

local function with_methods(name)
  Core[name] = function(self)
    local modules <const> = module_paths(self)
    return each(self.core[name](self.core), function(row)
      redact_method(self.redactor, row, modules[row.module_id])
      if row.assembly then row.assembly = self.redactor:assembly(row.assembly) end
    end)
  end
end

with_methods "methods"
with_methods "jits"

function Core:runtime()
  local facts <const>, r <const> = self.core:runtime(), self.redactor
  if facts.command_line then facts.command_line = r:command(facts.command_line) end
  if facts.path then facts.path = r:path(facts.path) end
  return facts
end

function Core:info()
  local facts <const>, r <const> = self.core:info(), self.redactor
  each(facts.pairs or {}, function(pair)
    if not tonumber(pair.value) then pair.value = r:text(pair.value) end
  end)
  return facts
end

-- Kinds are found by their names again, so the way back is kept.
function Core:kinds()
  local r <const> = self.redactor
  return each(self.core:kinds(), function(row)
    local shown <const> = r:thread(row.name)
    if row.name == "cpu" or row.name == "cswitch" then return end
    self.kind_names[shown] = row.name
    row.name = shown
  end)
end

function Core:profile(opts)
  local own = {}
  for key, value in pairs(opts) do own[key] = value end
  own.view = self.kind_names[opts.view] or opts.view
  local profile, facts, code = self.core:profile(own)
  if profile == nil then return nil, facts, code end
  local shown, message, why = self.redactor:profile(profile)
  if shown == nil then return nil, message, why end
  return shown, facts
end

function Core:timeline(opts)
  local timeline, message, code = self.core:timeline(opts)
  if timeline == nil then return nil, message, code end
  return self.redactor:timeline(timeline)
end

local function redact_frame(r, frame)
  local full <const> = (frame.type ~= "" and frame.type .. "." or "") .. frame.method
  local row <const> = { namespace = frame.type, name = frame.method }
  if full ~= "" then redact_method(r, row, nil) end
  return {
    ip = frame.ip, type = row.namespace, method = row.name,
    assembly = frame.assembly ~= "" and r:assembly(frame.assembly) or "",
  }
end

function Core:samples()
  local next_sample, message, code = self.core:samples()
  if next_sample == nil then return nil, message, code end
  local frames, stacks = {}, {}
  return function()
    local sample <const> = next_sample()
    if sample == nil then return nil end
    local stack = stacks[sample.frames]
    if stack == nil then
      stack = {}
      for i, frame in ipairs(sample.frames) do
        frames[frame] = frames[frame] or redact_frame(self.redactor, frame)
        stack[i] = frames[frame]
      end
      stacks[sample.frames] = stack
    end
    sample.frames = stack
    return sample
  end
end

-- What is wrong with a file is said in words of ours.
function Core:problems()
  return each(self.core:problems(), function(row) self.redactor.words:keep_all(row.text) end)
end

-- Questions that are not named here are answered as they are: numbers.
local PLAIN <const> = {
  "counts", "gcs", "gc_sums", "pauses", "pause_marks", "heap", "contention", "adjustments",
  "sampling", "il_maps", "frames", "close",
}
for _, name in ipairs(PLAIN) do
  Core[name] = function(self, ...) return self.core[name](self.core, ...) end
end

Core.__index = Core

local function wrap_core(redactor, core)
  return setmetatable({ core = core, redactor = redactor, kind_names = {} }, Core)
end

--- Makes the trace.
-- @tparam Redactor redactor
-- @tparam Trace original
-- @treturn Trace
function trace.wrap(redactor, original)
  local shown = {}
  for key, value in pairs(original) do shown[key] = value end
  shown.core = wrap_core(redactor, original.core)
  shown.name = redactor:path(original.name)
  shown.profiles, shown.lists, shown.variant, shown.variant_key = {}, {}, nil, nil
  shown.opts = {}
  for key, value in pairs(original.opts) do shown.opts[key] = value end
  shown.opts.through = function(core) return wrap_core(redactor, core) end
  shown.events = function(_, opts)
    local found, message, code, hint = original:events(opts)
    if found == nil then return nil, message, code, hint end
    return require("sonde.redact.events").events(redactor, found)
  end
  return setmetatable(shown, getmetatable(original))
end

return trace
