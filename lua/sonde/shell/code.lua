--- Lua text for what the words of the shell mean. A word is turned into such
-- text and the text is run, so that a saved session does what the shell did.
-- @module sonde.shell.code
local code = {}

local KEYWORDS <const> = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or
  repeat return then true until while]]):gmatch("%a+") do
  KEYWORDS[word] = true
end

--- The keywords of Lua.
-- @treturn table set of them
function code.keywords()
  return KEYWORDS
end

--- A value as Lua text.
-- @tparam string|number|boolean value
-- @treturn string
function code.literal(value)
  if type(value) ~= "string" then return ("%q"):format(value) end
  return (("%q"):format(value):gsub("\\\n", "\\n"):gsub("\r", "\\r"):gsub("\0", "\\0"))
end

local function key_text(key)
  if key:find("^[%a_][%w_]*$") and not KEYWORDS[key] then return key end
  return ("[%s]"):format(code.literal(key))
end

-- pprof's order of thinking comes first, all else by name.
local function sorted_keys(values)
  local keys = {}
  for key in pairs(values) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

--- Options as a table constructor.
-- @tparam table values scalars by name
-- @treturn string "" when there are none
function code.options(values)
  local parts = {}
  for i, key in ipairs(sorted_keys(values)) do
    parts[i] = ("%s = %s"):format(key_text(key), code.literal(values[key]))
  end
  if #parts == 0 then return "" end
  return ("{ %s }"):format(table.concat(parts, ", "))
end

--- A call with options.
-- @tparam string callee such as "profile:top"
-- @tparam table values
-- @treturn string
function code.call(callee, values)
  local constructor <const> = code.options(values)
  if constructor == "" then return callee .. "()" end
  return ("%s %s"):format(callee, constructor)
end

--- Whether a text of Lua uses a name. Strings and comments count too: it is
-- for deciding what a script defines, where too much does no harm.
-- @tparam string source
-- @tparam string name
-- @treturn boolean
function code.uses(source, name)
  return source:find(("%%f[%%w_]%s%%f[^%%w_]"):format(name)) ~= nil
end

-- Whether a message of the compiler says that the text ended too early.
local function ends_early(message)
  return message ~= nil and message:find("<eof>", -7, true) ~= nil
end

--- Compiles what was typed: an expression gives its values.
-- @tparam string source
-- @tparam table env
-- @treturn ?function
-- @treturn boolean|string whether it is an expression; or a message
-- @treturn ?boolean whether more lines may complete it
function code.compile(source, env)
  local name <const> = "=line"
  local expression, early = load("return " .. source, name, "t", env)
  if expression then return expression, true end
  local chunk, message = load(source, name, "t", env)
  if chunk then return chunk, source:find("^%s*return%f[^%w_]") ~= nil end
  -- When not even its first word begins a statement, an expression was meant.
  local near <const> = message:match("unexpected symbol near '(.-)'$")
  if near and source:match("^%s*(.*)$"):sub(1, #near) == near then message = early end
  return nil, message, ends_early(message) or ends_early(early)
end

return code
