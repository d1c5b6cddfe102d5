--- The verbs of the command inside the shell: what `sonde ps` does in a terminal,
-- the line `sonde ps` does here, by the same code.
-- @module sonde.shell.verbs
local cli <const> = require "sonde.cli"
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"

local verbs = {}

-- Those that would make another shell, or speak of one.
local REFUSED <const> = { shell = "use", completion = "help" }

-- A verb that gave up leaves its signals and sessions as they were: as a command
-- it would have ended with them.
local function cleaner()
  local sessions = package.loaded["sonde.dotnet.session"]
  local before <const> = sessions and sessions.all()
  return setmetatable({}, { __close = function()
    local loop <const> = package.loaded["sonde.base.loop"]
    if loop then loop.release_signals() end
    sessions = package.loaded["sonde.dotnet.session"]
    if sessions then sessions.close_all(before) end
  end })
end

--- Runs a verb. What it prints goes where the shell prints; its failure is raised.
-- @tparam ?table env of `sonde.cli`
-- @tparam {string,...} words such as `{ "record", "-p", "4242" }`
-- @treturn boolean true
function verbs.run(env, words)
  if REFUSED[words[1]] then
    errors.usage(("sonde %s is nothing for a shell"):format(words[1]), REFUSED[words[1]])
  end
  env = cli.env(env and { out = env.out, err = env.err, getenv = env.getenv,
    terminal = env.terminal })
  local verb <const>, rest <const> = cli.choose(words)
  env.command = "sonde " .. table.concat(words, " ")
  local _ <close> = cleaner()
  local status <const> = math.max(verb.start(rest, env) or 0, env.status)
  env.out:flush()
  if status == errors.exit.done then return true end
  errors.raise { message = "the verb said why", status = status, quiet = true }
end

local function add(words, name, value)
  local flag <const> = options.flag(name)
  if value == true then
    words[#words + 1] = flag
  elseif type(value) == "table" then
    for _, one in ipairs(value) do add(words, name, one) end
  elseif value ~= nil and value ~= false then
    words[#words + 1] = flag
    words[#words + 1] = tostring(value)
  end
end

--- Options as a command line has them.
-- @tparam {string,...} words what stands before them
-- @tparam ?table opts values by the options' names, lists for those that repeat
-- @treturn {string,...} the same words
function verbs.words(words, opts)
  local names = {}
  for name in pairs(opts or {}) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do add(words, name, opts[name]) end
  return words
end

--- Splits a line as a shell does: blanks, quotes, backslashes; ` #` begins a
-- comment. It starts no other program, so `|` and `>` are refused.
-- @tparam string line
-- @treturn {string,...}
function verbs.split(line)
  local words, word, quote, at = {}, nil, nil, 1
  while at <= #line do
    local c <const> = line:sub(at, at)
    if c == quote then quote = nil
    elseif not quote and c:find "[\"']" then quote, word = c, word or ""
    elseif c == "\\" and quote ~= "'" and at < #line then
      at = at + 1
      word = (word or "") .. line:sub(at, at)
    elseif not quote and c:find "%s" then words[#words + 1], word = word, nil
    elseif not quote and word == nil and c == "#" then break
    elseif not quote and c:find "[|<>;&]" then
      errors.usage(("'%s': a verb writes to the screen here, or to the file of its -o"):format(c),
        "help sonde")
    else word = (word or "") .. c end
    at = at + 1
  end
  if quote then errors.usage(("a %s is not closed"):format(quote), "help sonde") end
  words[#words + 1] = word
  return words
end

return verbs
