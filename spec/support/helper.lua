--- What specs share: files of the suite, the built command, other programs.
local helper = {}

local build <const> = os.getenv "SONDE_BUILD" or "build"

--- The command that was built.
helper.command = build .. "/sonde"
--- The directory of the C module.
helper.module = build .. "/lua/sonde/c/core.so"

--- Ends the running test as skipped, with the reason.
function helper.skip(reason)
  package.loaded["spec.support.skip"](reason)
end

--- Reads a whole file; nil when there is none.
function helper.read(path)
  local file = io.open(path, "rb")
  if file == nil then return nil end
  local text <const> = file:read("a")
  file:close()
  return text
end

--- Writes a whole file.
function helper.write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
end

--- Path of a file of spec/data.
function helper.data(name)
  return "spec/data/" .. name
end

--- Path of a file that lies beside the checkout, for checks that are too big
-- to ship. Skips the running test when it is not there.
function helper.shared(name)
  local path <const> = "../shared/" .. name
  local file <const> = io.open(path, "rb")
  if file == nil then helper.skip("../shared is not beside this checkout") end
  file:close()
  return path
end

--- A word for the shell.
function helper.quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- Runs a shell command; returns what it wrote to stdout, its exit status
-- (128 + the signal that ended it), and what it wrote to stderr.
function helper.run(command)
  local errors <const> = os.tmpname()
  local pipe <const> = assert(io.popen(("{ %s\n} 2>%s"):format(command, errors), "r"))
  local out <const> = pipe:read("a")
  local _, how, status = pipe:close()
  if how == "signal" then status = status + 128 end
  local err <const> = helper.read(errors)
  os.remove(errors)
  return out, status, err
end

--- Runs the built command with arguments that are quoted here.
function helper.sonde(...)
  local words = { helper.quote(helper.command) }
  for _, word in ipairs { ... } do words[#words + 1] = helper.quote(word) end
  return helper.run(table.concat(words, " ") .. " </dev/null")
end

--- Skips the running test when a program is not installed.
function helper.needs(program)
  local _, status = helper.run("command -v " .. program .. " >/dev/null")
  if status ~= 0 then helper.skip(program .. " is not installed") end
end

--- A directory that is removed after `use` returns.
function helper.in_directory(use)
  local out <const> = helper.run("mktemp -d")
  local path <const> = out:match("^(%S+)")
  local ok, message = xpcall(use, debug.traceback, path)
  helper.run("rm -rf " .. helper.quote(path))
  if not ok then error(message, 0) end
end

--- The lines of a text.
function helper.lines(text)
  local lines = {}
  for line in text:gmatch("([^\n]*)\n?") do lines[#lines + 1] = line end
  if lines[#lines] == "" then lines[#lines] = nil end
  return lines
end

--- The objects of JSON lines; each line must be one.
function helper.json_lines(text)
  local dkjson <const> = require "dkjson"
  local list = {}
  for _, line in ipairs(helper.lines(text)) do
    local object, at, message = dkjson.decode(line, 1, nil)
    assert(object ~= nil, ("%s at %s of: %s"):format(message, at, line))
    list[#list + 1] = object
  end
  return list
end

return helper
