--- The reference of what Lua has in the shell: the comments of the modules' own
-- text, which are those of the API reference, so that neither can fall behind.
-- @module sonde.shell.reference
local reference = {}

-- What users meet, by the name under which they do: the text of modules, and the
-- names of the classes in it. What comes first hides what is called the same.
local CLASSES <const> = {
  profile = { modules = "sonde.profile", classes = { "Profile" } },
  trace = { modules = "sonde.dotnet.questions sonde.dotnet.trace", classes = { "Trace" } },
  diff = { modules = "sonde.diff", classes = { "Diff" } },
  rows = { modules = "sonde.base.rows", classes = { "Rows" } },
  target = { modules = "sonde.shell.live sonde.dotnet.target sonde.golang.target",
    classes = { "Live", "Target" }, maker = "target" },
  dump = { modules = "sonde.dotnet.dump sonde.dump", classes = { "Dump" } },
  session = { modules = "sonde.dotnet.session", classes = { "Session" } },
  store = { modules = "sonde.capture.answers sonde.capture.over_time"
    .. " sonde.capture.store.reading", classes = { "Store", "over_time" }, maker = "store" },
  policy = { modules = "sonde.policy", classes = { "Policy" }, maker = "policy" },
  sonde = { modules = "sonde", classes = { "sonde" }, is_module = true },
}
for _, name in ipairs { "whole", "before", "after" } do CLASSES[name] = CLASSES.profile end

-- Functions of the shell, each told alone.
local FUNCTIONS <const> = { targets = true, policies = true, verb = true }
local SHELL <const> = { modules = "sonde.shell", classes = { "shell" } }

-- The names by which values know their class.
local BY_METATABLE <const> = {
  ["sonde.profile"] = "profile", ["sonde.Trace"] = "trace", ["sonde.diff"] = "diff",
  ["sonde.rows"] = "rows", ["sonde.live"] = "target", ["sonde.target"] = "target",
  ["sonde.dump"] = "dump", ["sonde.session"] = "session", ["sonde.Store"] = "store",
  ["sonde.Policy"] = "policy",
}

local function text_of(modules)
  local texts = {}
  for module in modules:gmatch("%S+") do
    local path <const> = package.searchpath(module, package.path)
    local file <const> = path and io.open(path, "r")
    if file then
      texts[#texts + 1] = file:read("a")
      file:close()
    end
  end
  return table.concat(texts, "\n")
end

-- The comments of a class's functions, in the order of its text: each
-- `{ name, lines of its comment }`.
local function comments_of(text, class)
  local found, comment = {}, nil
  for line in text:gmatch("([^\n]*)\n") do
    local started <const> = line:match("^%-%-%- (.*)$")
    if started then
      comment = { started }
    elseif comment and line:find("^%-%- ") then
      comment[#comment + 1] = line:sub(4)
      local name <const> = line:match("^%-%- @function " .. class .. "[:.]([%w_]+)")
      if name then found[#found + 1] = { name, comment } end
    else
      local name <const> = line:match("^function " .. class .. "[:.]([%w_]+)%(")
      if name and comment and name:sub(1, 1) ~= "_" then found[#found + 1] = { name, comment } end
      comment = nil
    end
  end
  return found
end

-- All functions of what users know by one name.
local function entries_of(about)
  local text <const> = text_of(about.modules)
  local list, seen = {}, {}
  for _, class in ipairs(about.classes) do
    for _, entry in ipairs(comments_of(text, class)) do
      if not seen[entry[1]] then
        seen[entry[1]] = true
        list[#list + 1] = entry
      end
    end
  end
  return list
end

local function pad(cell, width)
  return cell .. (" "):rep(math.max(1, width - #cell))
end

-- The first sentence of a comment.
local function summary_of(comment)
  local said = {}
  for _, line in ipairs(comment) do
    if line:find("^@") then break end
    said[#said + 1] = line
  end
  local all <const> = table.concat(said, " ")
  return (all:match("^(.-)%.%f[%s\0]") or all)
end

-- ldoc's tags in words.
local function plain(line)
  line = line:gsub("^@tparam (%S+) (%S+)", "   %2 (%1)"):gsub("^@treturn (%S+)", "   gives %1")
  return (line:gsub("^@param (%S+)", "   %1"):gsub("^@return", "   gives"))
end

local function in_full(title, comment)
  local lines = { title }
  for _, line in ipairs(comment) do
    if not line:find("^@function") then lines[#lines + 1] = plain(line) end
  end
  return table.concat(lines, "\n")
end

-- A function of the shell, such as `targets`.
local function function_page(name)
  for _, entry in ipairs(entries_of(SHELL)) do
    if entry[1] == name then return in_full(name, entry[2]) end
  end
end

--- Is there a page of a name?
-- @tparam string name
-- @treturn boolean
function reference.has(name)
  return CLASSES[name] ~= nil or FUNCTIONS[name] ~= nil
end

--- The names of all pages.
-- @treturn {string,...}
function reference.names()
  local names = {}
  for _, set in ipairs { CLASSES, FUNCTIONS } do
    for name in pairs(set) do names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

--- The page that tells of a value.
-- @param value
-- @treturn ?string its name
function reference.of_value(value)
  local meta <const> = getmetatable(value)
  return type(meta) == "table" and BY_METATABLE[meta.__name] or nil
end

--- A page: the functions of a class, each with its first sentence.
-- @tparam string name
-- @treturn ?string nil when there is none
function reference.page(name)
  local about <const> = CLASSES[name]
  if about == nil then return FUNCTIONS[name] and function_page(name) end
  local lines = {}
  if about.maker then lines = { function_page(about.maker), "" } end
  local separator <const> = about.is_module and "." or ":"
  lines[#lines + 1] = name .. (about.is_module and ": its functions" or ": its methods")
  for _, entry in ipairs(entries_of(about)) do
    lines[#lines + 1] = ("   %s%s"):format(pad(separator .. entry[1], 16), summary_of(entry[2]))
  end
  return table.concat(lines, "\n")
end

--- The names of the functions of a class.
-- @tparam string name of a page
-- @treturn {string,...}
function reference.methods(name)
  local names = {}
  for i, entry in ipairs(entries_of(CLASSES[name])) do names[i] = entry[1] end
  return names
end

--- All that is said of one function.
-- @tparam string name of a page
-- @tparam string method
-- @tparam string shown the name that its user has for the value
-- @treturn ?string nil when there is none
function reference.method(name, method, shown)
  local about <const> = CLASSES[name]
  if about == nil then return nil end
  for _, entry in ipairs(entries_of(about)) do
    if entry[1] == method then
      return in_full(shown .. (about.is_module and "." or ":") .. method, entry[2])
    end
  end
end

return reference
