--- What completion finds outside of the words and the profile: files, processes,
-- policies, the verbs' options, the fields of rows. Nothing of it is loaded before
-- somebody asks for it.
-- @module sonde.shell.candidates
local rows <const> = require "sonde.base.rows"

local candidates = {}

local MOST_FILES <const> = 500
local FRESH <const> = 2   -- seconds for which a list of processes is good

local function starting_with(names, prefix)
  local found = {}
  for _, name in ipairs(names) do
    if name:sub(1, #prefix) == prefix then found[#found + 1] = name end
  end
  table.sort(found)
  return found
end

local function is_shown(name, part)
  return name:sub(1, #part) == part and not name:find "%c"
    and (part ~= "" or name:sub(1, 1) ~= ".")
end

--- Files; a directory ends with a slash.
-- @tparam string prefix
-- @treturn {string,...}
function candidates.files(prefix)
  local directory <const>, part <const> = prefix:match "^(.*/)([^/]*)$"
  local uv <const> = require "sonde.base.uv"
  local scan <const> = uv.fs_scandir(directory or ".")
  local found = {}
  local name, kind
  if scan then name, kind = uv.fs_scandir_next(scan) end
  while name and #found < MOST_FILES do
    if is_shown(name, part or prefix) then
      local path <const> = (directory or "") .. name
      if kind == "link" then
        kind = require("sonde.c.core").path_info(path)
      end
      found[#found + 1] = path .. (kind == "directory" and "/" or "")
    end
    name, kind = uv.fs_scandir_next(scan)
  end
  table.sort(found)
  return found
end

local processes, asked_at

--- Processes that can be looked into: numbers for what begins with a digit, names
-- otherwise.
-- @tparam string prefix
-- @treturn {string,...}
function candidates.processes(prefix)
  if processes == nil or os.time() - asked_at > FRESH then
    processes, asked_at = require("sonde").targets(), os.time()
  end
  local names, seen = {}, {}
  for _, row in ipairs(processes) do
    local name <const> = prefix:find "^%d" and tostring(row.pid) or row.name
    if not seen[name] and not name:find "[%c%s\"']" then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  return starting_with(names, prefix)
end

--- Policies by name, and files.
-- @tparam string prefix
-- @treturn {string,...}
function candidates.policies(prefix)
  local found <const> = starting_with(require("sonde.policy").NAMES, prefix)
  local files <const> = candidates.files(prefix)
  return table.move(files, 1, #files, #found + 1, found)
end

local OF_KIND <const> = {
  file = candidates.files, process = candidates.processes, policy = candidates.policies,
  input = function(prefix)
    local found <const> = candidates.files(prefix)
    local more <const> = candidates.processes(prefix)
    return table.move(more, 1, #more, #found + 1, found)
  end,
  verb = function(prefix) return starting_with(require("sonde.cli").verbs, prefix) end,
}

local function of_kind(about, prefix)
  if about.choices then return starting_with(about.choices, prefix) end
  local find <const> = OF_KIND[about.kind]
  return find and find(prefix) or {}
end

-- The option that waits for its value: the word before the one at the cursor.
local function waiting_option(verb, last)
  for _, option in ipairs(verb.options) do
    for _, flag in ipairs(option.kind and option.flags or {}) do
      if flag == last then return option end
    end
  end
end

-- The argument at the cursor: the words before it that belong to no option.
local function argument_at(verb, before)
  local n, i = 1, 1
  while i <= #before do
    local word <const> = before[i]
    if waiting_option(verb, word) then i = i + 1
    elseif word:sub(1, 1) ~= "-" then n = n + 1 end
    i = i + 1
  end
  local last <const> = verb.arguments[#verb.arguments]
  return verb.arguments[n] or last and last.many and last or nil
end

--- What may stand at the end of a line of the command.
-- @tparam string rest what follows `sonde `
-- @treturn string the part of the last word that is there
-- @treturn {string,...}
function candidates.verb(rest)
  local words <const> = require "sonde.completion.words"
  local before, token = {}, rest:match "%S*$"
  for word in rest:sub(1, #rest - #token):gmatch "%S+" do before[#before + 1] = word end
  local name <const> = table.remove(before, 1)
  if name == nil then return token, OF_KIND.verb(token) end
  local module <const> = require("sonde.cli").verb(name)
  if module == nil then return token, {} end
  local verb <const> = words.of(name, module)
  local option <const> = waiting_option(verb, before[#before])
  if option then return token, of_kind(option, token) end
  if token:sub(1, 1) == "-" then return token, starting_with(words.flags(verb.options), token) end
  local argument <const> = argument_at(verb, before)
  return token, argument and of_kind(argument, token) or {}
end

-- A name, or names behind points, without calling anything.
local function value_of(env, path)
  local value
  for name in path:gmatch "[%a_][%w_]*" do
    if value == nil then value = rawget(env, name) else value = rawget(value, name) end
    if type(value) ~= "table" then return nil end
  end
  return value
end

-- The rows at the head of a chain of calls: of it:where{ … }:sort " those of `it`.
local function rows_in(env, text)
  for path in text:gmatch "([%a_][%w_.]*)%s*:" do
    local value <const> = value_of(env, path)
    if rows.is(value) then return value end
  end
end

-- Methods that are given names of fields, in quotes or as keys.
local QUOTED <const> = { sort = true, select = true, values = true, sum = true, group = true }
local KEYED <const> = { where = true, except = true }

--- The fields of rows, where their names are wanted: `it:where{ na`, `it:sort "-fl`.
-- @tparam table env of the session
-- @tparam string before the line up to the cursor
-- @treturn ?string the part that is there
-- @treturn ?{string,...}
function candidates.fields(env, before)
  local head <const>, method <const>, given <const> = before:match "^(.*:)(%a+)%s*([({\"'].*)$"
  if head == nil then return nil end
  local list <const> = rows_in(env, head)
  if list == nil then return nil end
  local part
  if KEYED[method] then
    local _, n = given:gsub("[\"']", "")
    part = n % 2 == 0 and given:match "[{,]%s*([%a_]?[%w_]*)$"
  elseif QUOTED[method] then
    part = given:match "[\"']%-?([%w_]*)$"
  end
  if not part then return nil end
  return part, starting_with(list:fields(), part)
end

--- The methods of rows behind a call that gives some: `it:where{ … }:so`.
-- @tparam table env of the session
-- @tparam string before the line up to the cursor
-- @treturn ?string the part that is there
-- @treturn ?{string,...}
function candidates.methods(env, before)
  local head <const>, part <const> = before:match "^(.*[)}\"']):([%w_]*)$"
  local list <const> = head and rows_in(env, head)
  if not list then return nil end
  local names = {}
  for name, method in pairs(getmetatable(list).__index) do
    if type(method) == "function" and name:sub(1, 2) ~= "__" then names[#names + 1] = name end
  end
  return part, starting_with(names, part)
end

--- The fields of one record: `it[1].na`.
-- @tparam table env of the session
-- @tparam string before the line up to the cursor
-- @treturn ?string the part that is there
-- @treturn ?{string,...}
function candidates.record(env, before)
  local path <const>, number <const>, part <const> =
    before:match "([%a_][%w_.]*)%[(%d+)%]%.([%w_]*)$"
  local list <const> = path and value_of(env, path)
  local record <const> = type(list) == "table" and list[math.tointeger(tonumber(number))]
  if type(record) ~= "table" then return nil end
  return part, starting_with(rows.fields { record }, part)
end

-- Calls whose text is a file, a process, a policy.
local CALLS <const> = {
  open = candidates.files, store = candidates.files, write = candidates.files,
  dofile = candidates.files, loadfile = candidates.files, replay = candidates.files,
  test = candidates.files, cut = candidates.files, events = candidates.files,
  target = candidates.processes, policy = candidates.policies,
}

--- What a text may become that is given to a call: `store "cap`, `target(42`.
-- @tparam string before the line up to the cursor
-- @treturn ?string the part that is there
-- @treturn ?{string,...}
function candidates.of_call(before)
  local call, part = before:match "([%a_][%w_]*)%s*%(?%s*[\"']([^\"']*)$"
  if call == nil then call, part = before:match "%f[%w_](target)%s*%((%d*)$" end
  local find <const> = CALLS[call]
  if find == nil then return nil end
  return part, find(part)
end

return candidates
