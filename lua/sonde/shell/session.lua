--- The state of a shell: its inputs, its settings and what they choose, the
-- names that Lua sees, and what was done so far.
-- @module sonde.shell.session
local code <const> = require "sonde.shell.code"
local core <const> = require "sonde.c.core"
local errors <const> = require "sonde.base.errors"
local rows <const> = require "sonde.base.rows"
local scope <const> = require "sonde.report.scope"
local settings <const> = require "sonde.shell.settings"
local shell <const> = require "sonde.shell"
local sonde <const> = require "sonde"

local session = {}

local Session <const> = {}
Session.__index = Session

local MOST_KEPT <const> = 12   -- profiles; asking for one of them costs nothing
local MOST_UNDO <const> = 100

-- The objects by their names in Lua. Each name follows the settings.
local NAMES <const> = { "inputs", "trace", "whole", "profile", "before", "after", "diff" }
local OF_TWO <const> = { before = true, after = true, diff = true }

--- The names of the objects that a shell has.
-- @treturn {string,...}
function Session:object_names()
  local names = {}
  for _, name in ipairs(NAMES) do
    if not OF_TWO[name] or #self.inputs == 2 then names[#names + 1] = name end
  end
  return names
end

local function is_trace(object)
  return type(object.profile) == "function"
end

local function checked(value, message, why, hint)
  if value == nil then errors.raise { message = message, code = why, hint = hint } end
  return value
end

local function kind_of(object)
  local meta <const> = getmetatable(object)
  local name <const> = type(meta) == "table" and meta.__name
  if name == "sonde.Trace" then return "trace" end
  if name == "sonde.profile" then return "profile" end
end

--- Takes a Trace or a Profile for an input.
-- @param object
-- @tparam string expression Lua text that gives it in a saved script
-- @tparam string name for the prompt
-- @treturn table `object expression name is_trace`. Of a trace that was opened
--   for its samples only, the caller sets `load`, which opens all of it.
function session.input(object, expression, name)
  if kind_of(object) == nil then
    errors.usage("that is neither a trace nor a profile", "help use")
  end
  return { object = object, expression = expression, name = name, is_trace = is_trace(object) }
end

-- The profiles that were asked for last, by what chose them.
local function kept(self, key, make)
  for i, entry in ipairs(self.kept) do
    if entry.key == key then
      table.insert(self.kept, table.remove(self.kept, i))
      return entry.profile
    end
  end
  local profile <const> = make()
  table.insert(self.kept, { key = key, profile = profile })
  if #self.kept > MOST_KEPT then table.remove(self.kept, 1) end
  return profile
end

-- What is in use before anything was opened.
local NOTHING <const> = { name = "sonde", is_trace = false }

--- Is nothing open, so that there is only Lua, what is live, and what is kept?
-- @treturn boolean
function Session:is_empty()
  return self.used == NOTHING
end

--- The input in use; without one, that is the failure.
-- @treturn table
function Session:need_input()
  if self:is_empty() then
    errors.raise { code = "unavailable", hint = "open FILE",
      message = "no trace or profile is open" }
  end
  return self.used
end

-- A number for an object that no later one gets again, as an address may be.
local function id_of(self, object)
  local id = self.ids[object]
  if id == nil then
    id = self.ids.n
    self.ids[object], self.ids.n = id, id + 1
  end
  return id
end

-- The views that a trace has which was opened for its samples only.
local OF_SAMPLES <const> = { wall = true, samples = true, running = true, managed = true,
  cpu = true }

-- All of an input: a trace was opened for its samples at first, so that the
-- first prompt comes as soon as the first answer of the command would.
local function all_of(input)
  if input.load then
    input.object = input.load()
    input.load = nil
  end
  return input.object
end

--- All of an input, which may have been opened for its samples first.
-- @tparam table input
-- @return Trace or Profile
session.object_of = all_of

local function key_of(self, object, values)
  return ("%d %s"):format(id_of(self, object), code.options(values))
end

--- The profile of an input in the view that is set, without filters.
-- @tparam ?table input the one in use otherwise
-- @tparam ?table values other settings than those that hold
-- @treturn Profile
function Session:whole(input, values)
  input, values = input or self:need_input(), values or self.values
  if not input.is_trace then
    if values.view then checked(scope.find_type(input.object, values.view)) end
    return input.object
  end
  local choice <const> = settings.choice(values)
  if choice.view == input.default_view then choice.view = nil end
  local whole <const> = kept(self, key_of(self, input, choice), function()
    local has_it <const> = choice.view == nil or OF_SAMPLES[choice.view]
    return checked((has_it and input.object or all_of(input)):profile(choice))
  end)
  if choice.view == nil then input.default_view = whole:notes().view end
  return whole
end

--- What the filters leave of it.
-- @tparam ?table input
-- @tparam ?table values
-- @treturn Profile
function Session:profile(input, values)
  input, values = input or self:need_input(), values or self.values
  local whole <const> = self:whole(input, values)
  local filters <const> = settings.filters(values)
  if next(filters) == nil then return whole end
  return kept(self, key_of(self, whole, filters), function()
    return checked(whole:where(filters))
  end)
end

-- Options of `sonde.diff`: a profile's view is its sample type.
local function diff_options(self)
  local opts <const> = { normalize = self.values.normalize or nil }
  if not self.used.is_trace then opts.type = self.values.view end
  return opts
end

local GETTERS <const> = {
  inputs = function(self)
    local objects = {}
    for i, input in ipairs(self.inputs) do objects[i] = all_of(input) end
    return objects
  end,
  trace = function(self)
    if self:need_input().is_trace then return all_of(self.used) end
    errors.raise { code = "unavailable", hint = "profile",
      message = ("%s is a profile: only a trace has that"):format(self.used.name) }
  end,
  whole = Session.whole,
  profile = Session.profile,
  before = function(self) return self:profile(self.inputs[1]) end,
  after = function(self) return self:profile(self.inputs[2]) end,
  diff = function(self)
    return checked(sonde.diff(self:profile(self.inputs[1]), self:profile(self.inputs[2]),
      diff_options(self)))
  end,
}

local function getter_of(self, name)
  if OF_TWO[name] and #self.inputs ~= 2 then return nil end
  return GETTERS[name]
end

local function whole_text(self, input)
  if not input.is_trace then return input.expression end
  return ("assert(%s)"):format(code.call(input.expression .. ":profile",
    settings.choice(self.values)))
end

local function filtered_text(self, whole)
  local filters <const> = settings.filters(self.values)
  if next(filters) == nil then return whole end
  return ("assert(%s)"):format(code.call(whole .. ":where", filters))
end

--- What each name stands for now, as Lua text for a saved script.
-- @treturn table text by name
function Session:definitions()
  if self:is_empty() then return {} end
  local texts <const> = {
    trace = self.used.is_trace and self.used.expression or nil,
    whole = whole_text(self, self.used),
    profile = filtered_text(self, "whole"),
  }
  if #self.inputs == 2 then
    texts.before = filtered_text(self, whole_text(self, self.inputs[1]))
    texts.after = filtered_text(self, whole_text(self, self.inputs[2]))
    local opts <const> = code.options(diff_options(self))
    texts.diff = ("assert(sonde.diff(before, after%s))"):format(opts == "" and "" or ", " .. opts)
  end
  return texts
end

--- The views of the input in use, or its sample types.
-- @treturn {string,...}
function Session:views()
  if self:is_empty() then return {} end
  if self.used.is_trace then return self.used.object:views() end
  local names = {}
  for i, entry in ipairs(self.used.object:types()) do names[i] = entry.type end
  return names
end

--- The view that is shown now.
-- @treturn string "" when nothing is open
function Session:view()
  if self:is_empty() then return "" end
  if self.values.view then return self.values.view end
  if self.used.is_trace then
    local done, whole = errors.pcall(self.whole, self)
    return done and whole:notes().view or "no samples"
  end
  local index <const> = scope.find_type(self.used.object)
  return index and self.used.object:types()[index].type or "no types"
end

local function remember(self)
  table.insert(self.past, { values = self.values, used = self.used })
  if #self.past > MOST_UNDO then table.remove(self.past, 1) end
  self.future = {}
end

-- Numbers count from 0, as in pprof.
local function view_by_number(self, text)
  local number <const> = math.tointeger(tonumber(text))
  if number == nil then return text end
  local views <const> = self:views()
  if views[number + 1] then return views[number + 1] end
  errors.usage(("no view %d: there are 0 to %d"):format(number, #views - 1), "o")
end

--- Sets a setting from text. What cannot be shown is refused.
-- @tparam string name
-- @tparam string text
function Session:set(name, text)
  local option <const> = settings.get(name)
  if option.name == "view" then text = view_by_number(self, text) end
  if option.of_trace and not self:need_input().is_trace then
    errors.usage(("%s: only a trace has that, and %s is a profile"):format(option.name,
      self.used.name), "label_focus=KEY=RE")
  end
  self:change(settings.set(self.values, name, text))
end

--- Takes other settings, if they can be shown.
-- @tparam table values
function Session:change(values)
  if settings.equal(values, self.values) then return end
  local function choice_of(all) return code.options(settings.choice(all)) end
  if choice_of(values) ~= choice_of(self.values) then self:whole(nil, values) end
  remember(self)
  self.values = values
end

--- Unsets all filters.
function Session:clear()
  self:change(settings.clear(self.values))
end

--- Makes another input the one in use. It may lack the view that is set: the
-- next word can be about another.
-- @tparam table input of `session.input`
function Session:use(input)
  remember(self)
  self.used = input
end

local function step(from, to, self)
  local state <const> = table.remove(from)
  if state == nil then return false end
  table.insert(to, { values = self.values, used = self.used })
  self.values, self.used = state.values, state.used
  return true
end

--- Goes back to the settings before the last change.
-- @treturn boolean false when there were none
function Session:undo()
  return step(self.past, self.future, self)
end

--- Takes an `undo` back.
-- @treturn boolean
function Session:redo()
  return step(self.future, self.past, self)
end

-- An interrupt is raised once; nothing that Lua code guards with pcall may
-- swallow it, or Ctrl-C would end only the innermost loop.
local function pass(done, raised, ...)
  if not done and errors.is_interrupt(raised) then error(raised, 0) end
  return done, raised, ...
end

local function resumed(done, ...)
  if not done then error((...), 0) end
  return ...
end

-- A hook is of one coroutine: those of the user are resumed so that Ctrl-C
-- reaches them.
local function own_coroutine()
  local own = {}
  for name, fn in pairs(coroutine) do own[name] = fn end
  own.resume = function(...) return pass(core.resume(...)) end
  own.wrap = function(fn)
    local co <const> = coroutine.create(fn)
    return function(...) return resumed(core.resume(co, ...)) end
  end
  return own
end

local function own_globals()
  local globals = {
    sonde = sonde,
    pcall = errors.pcall,
    xpcall = function(...) return pass(xpcall(...)) end,
    coroutine = own_coroutine(),
  }
  for _, name in ipairs { "show", table.unpack(shell.names) } do
    globals[name] = function(...) return shell[name](...) end
  end
  return globals
end

local function make_env(self)
  local env <const>, globals <const> = {}, self.globals
  env._G = env
  return setmetatable(env, {
    __index = function(_, name)
      local getter <const> = getter_of(self, name)
      if getter then return getter(self) end
      if globals[name] ~= nil then return globals[name] end
      return _G[name]
    end,
    __newindex = function(_, name, value)
      if getter_of(self, name) then
        errors.usage(("'%s' follows the settings and is not assigned to"):format(name),
          name == "trace" and "use EXPRESSION" or "another name")
      end
      rawset(env, name, value)
    end,
  })
end

--- Is a name known to Lua here, without computing what it stands for?
-- @tparam string name
-- @treturn boolean
function Session:knows(name)
  return name == "it" or rawget(self.env, name) ~= nil or getter_of(self, name) ~= nil
    or self.globals[name] ~= nil or _G[name] ~= nil
end

--- Has the user given this name a value?
-- @tparam string name
-- @treturn boolean
function Session:has_own(name)
  return rawget(self.env, name) ~= nil
end

local function fail_to_compile(message)
  errors.usage((message:gsub("^line:1: ", ""):gsub("^line:(%d+): ", "line %1: ")), "help lua")
end

-- Errors of the library come as nil, message, code: here they end the line.
local function raise_failure(values, hint)
  local why <const> = values[3]
  if values[1] ~= nil or type(values[2]) ~= "string" or type(why) ~= "string" then return end
  errors.raise { message = values[2], code = why, hint = values[4] or hint }
end

--- Keeps a value: `_` is the last one, `__` the one before, and `it` the last that
-- can be asked further, which a number and a text cannot.
-- @param value nil is none
function Session:keep(value)
  if value == nil then return end
  local env <const> = self.env
  rawset(env, "__", rawget(env, "_"))
  rawset(env, "_", rows.adopt(value))
  if type(value) == "table" or type(value) == "userdata" then rawset(env, "it", value) end
end

--- Runs Lua and remembers that it did, for `save`.
-- @tparam string source
-- @tparam ?table how `line` (what was typed instead of it), `quiet` (its value
--   says only that it worked), `hint` (what helps when it does not)
-- @treturn table its values, packed
function Session:evaluate(source, how)
  how = how or {}
  local chunk, is_expression = code.compile(source, self.env)
  if chunk == nil then fail_to_compile(is_expression) end
  local definitions <const> = self:definitions()
  local values <const> = table.pack(chunk())
  if is_expression then raise_failure(values, how.hint) end
  if is_expression and not how.quiet then self:keep(values[1]) end
  self.log[#self.log + 1] = {
    source = source, line = how.line, definitions = definitions,
    form = how.quiet and "quiet" or is_expression and "expression" or "statement",
  }
  return values
end

--- Names the value of an expression, for a saved script to use it.
-- @tparam string expression
-- @tparam string line what was typed
-- @treturn string the name
function Session:name_value(expression, line)
  self.named = self.named + 1
  local name <const> = ("in_use_%d"):format(self.named)
  self.log[#self.log + 1] = { source = ("%s = %s"):format(name, expression), line = line,
    definitions = self:definitions(), form = "local" }
  return name
end

--- The values of an expression, without a trace of it.
-- @tparam string source
-- @return its first value
function Session:value_of(source)
  local chunk, is_expression = code.compile(source, self.env)
  if chunk == nil or not is_expression then
    errors.usage(("'%s' is no expression"):format(source), "help use")
  end
  return (chunk())
end

--- A session over two inputs, one, or none.
-- @tparam {table,...} inputs of `session.input`; the last one is in use
-- @tparam ?table values first settings
-- @treturn Session
function session.new(inputs, values)
  local self <const> = setmetatable({
    inputs = inputs, used = inputs[#inputs] or NOTHING, values = values or settings.defaults(),
    past = {}, future = {}, kept = {}, log = {}, named = 0, globals = own_globals(),
    ids = setmetatable({ n = 1 }, { __mode = "k" }),
  }, Session)
  self.env = make_env(self)
  return self
end

return session
