-- Rules of the house that no compiler checks.
local helper <const> = require "spec.support.helper"

local build <const> = os.getenv "SONDE_BUILD" or "build"

local PURE <const> = { "base", "profile", "pprof", "nettrace", "clr", "ipc", "text", "elf" }

-- What pure C may call: memory, strings, formatting into memory, arithmetic,
-- zlib; and what compilers and sanitizers put in by themselves.
local ALLOWED <const> = {
  "^malloc$", "^calloc$", "^realloc$", "^free$", "^mem%w+$", "^str%w+$", "^qsort$", "^bsearch$",
  "^v?snprintf$", "^l?l?round[fl]?$", "^floor[fl]?$", "^ceil[fl]?$", "^sqrt$", "^log%w*$",
  "^exp%w*$", "^pow$", "^frexp$", "^ldexp$", "^fabs$", "^fmod$", "^isnan$", "^isinf$",
  "^inflate%w*_?$", "^deflate%w*_?$", "^crc32$", "^adler32$", "^__ctype_%w+_loc$",
  "^__%w+_chk$", "^__stack_chk_fail$", "^_GLOBAL_OFFSET_TABLE_$", "^__asan_", "^__ubsan_",
  "^__sanitizer_", "^__popcountdi2$", "^__assert_fail$", "^__isoc99_", "^abort$", "^__%w+ti[34]$",
}

local function lines_of(command)
  local out, status = helper.run(command)
  assert(status == 0, command)
  return helper.lines(out)
end

local function is_allowed(symbol)
  for _, pattern in ipairs(ALLOWED) do
    if symbol:find(pattern) then return true end
  end
  return false
end

local function files(command)
  return lines_of(command .. " | sort")
end

local function tracked()
  local out, status = helper.run("git ls-files")
  if status ~= 0 then helper.skip("not a git checkout") end
  return helper.lines(out)
end

describe("pure C", function()
  it("calls no system function", function()
    helper.needs("nm")
    local defined, undefined = {}, {}
    for _, folder in ipairs(PURE) do
      local list <const> = ("nm %s/obj/%s/*.o 2>/dev/null || :"):format(build, folder)
      for _, line in ipairs(lines_of(list)) do
        local kind, symbol = line:match("^%x*%s+(%a) (%S+)$")
        if kind == "U" then
          undefined[symbol] = folder
        elseif kind then
          defined[symbol] = true
        end
      end
    end
    local bad = {}
    for symbol, folder in pairs(undefined) do
      local known = defined[symbol] or is_allowed(symbol)
      if not known then bad[#bad + 1] = ("%s: %s"):format(folder, symbol) end
    end
    assert.same({}, bad)
    assert.is_true(next(defined) ~= nil)
  end)

  it("sees no lua.h", function()
    for _, folder in ipairs(PURE) do
      local search <const> = "grep -lE 'include.*(lua|lauxlib)\\.h' src/%s/* || :"
      local out <const> = helper.run(search:format(folder))
      assert.equal("", out)
    end
  end)
end)

describe("the module", function()
  it("shows only its luaopen functions", function()
    helper.needs("nm")
    local folder <const> = helper.module:match("^(.*)/")
    for _, module in ipairs(lines_of("ls " .. folder .. "/*.so")) do
      for _, line in ipairs(lines_of("nm -D --defined-only " .. module)) do
        local symbol <const> = line:match("(%S+)$")
        local own = symbol:find("^luaopen_") or symbol:find("^__asan") or symbol:find("^__odr_asan")
        assert(own, symbol)
      end
    end
  end)
end)

describe("the rockspec", function()
  it("lists every file", function()
    local _, status, err = helper.run("lua5.4 rockspec/update.lua --check")
    assert.equal("", err)
    assert.equal(0, status)
  end)
end)

-- Classes that users meet; others are a module's own affair.
local PUBLIC <const> = {
  Profile = true, Trace = true, Timeline = true, Diff = true, Events = true, Dump = true,
  Stream = true, Rows = true, Target = true, Session = true, Live = true, Store = true,
  Capture = true, Probe = true, Report = true, Policy = true, Redactor = true,
}

local function is_public(name)
  local table_name, method = name:match("^([%w_]+)[.:]([%w_]+)$")
  if method:sub(1, 2) == "__" then return false end
  return not table_name:find("^%u") or PUBLIC[table_name] ~= nil
end

-- The public functions of a module's text that no ldoc comment precedes.
local function undocumented(text)
  local found, previous, in_doc = {}, "", false
  for line in text:gmatch("([^\n]*)\n") do
    local name <const> = line:match("^function ([%w_]+[.:][%w_]+)%(")
    if name and is_public(name) and not in_doc then found[#found + 1] = name end
    local comment <const> = line:find("^%-%-") ~= nil
    in_doc = comment and (line:find("^%-%-%- ") ~= nil or in_doc and previous:find("^%-%-") ~= nil)
    previous = line
  end
  return found
end

describe("Lua", function()
  it("documents every public function", function()
    local bad = {}
    for _, path in ipairs(files("find lua -name '*.lua'")) do
      for _, name in ipairs(undocumented(helper.read(path))) do
        bad[#bad + 1] = ("%s: %s"):format(path, name)
      end
    end
    assert.same({}, bad)
  end)

  it("has a reference that ldoc can make without a warning", function()
    helper.needs("ldoc")
    helper.in_directory(function(directory)
      local line <const> = 'lua5.4 "$(command -v ldoc)" --fatalwarnings --dir %s . 2>&1'
      local out, status = helper.run(line:format(directory))
      assert(status == 0, out)
    end)
  end)

  -- Files of `recordings` and `policies` are data, as users write them, and no modules.
  it("names each module in its first comment", function()
    local search <const> = "find lua -name '*.lua' ! -name main.lua ! -path '*/recordings/*'"
      .. " ! -path '*/policies/*'"
    for _, path in ipairs(files(search)) do
      local text <const> = helper.read(path)
      local name <const> = path:match("^lua/(.*)%.lua$"):gsub("/init$", ""):gsub("/", ".")
      assert(text:find("^%-%-%- "), path)
      assert(text:find("\n-- @module " .. name .. "\n", 1, true), path)
    end
  end)
end)

-- What talks to people, decides, keeps, shows, reads, and what all use: a folder
-- requires those of its own rank and below.
local RANKS <const> = {
  cmd = 1, cli = 1, main = 1, shell = 1, completion = 1, policy = 2, policies = 2, capture = 3,
  finding = 4, report = 4, dotnet = 5, golang = 5, process = 5, probe = 5, base = 6,
}
local SOURCES <const> = { dotnet = true, golang = true, process = true, probe = true,
  capture = true }

describe("imports", function()
  -- The fields of our own modules that a text names: module, field.
  local function taken(source)
    source = source:gsub("%-%-[^\n]*", "")
    local list, found = {}, {}
    for module, field, at in source:gmatch 'require%("(sonde%.[%w_.]+)"%)%.([%w_]+)()' do
      if not source:find("^ = ", at) then list[#list + 1] = { module, field } end
    end
    for name, module in source:gmatch 'local ([%w_]+) <const> = require "(sonde%.[%w_.]+)"' do
      -- A name that is also something else tells nothing.
      local _, times = source:gsub("local " .. name .. "%f[^%w_]", "")
      local argument <const> = "%([^()\n]*%f[%w_]" .. name .. "%f[^%w_][^().\n]*%)\n"
      if times == 1 and not source:find(argument) then found[name] = module end
    end
    source = source:gsub('"[^"\n]*"', '""'):gsub("%[%[.-%]%]", "")
    for before, name, field in source:gmatch "([^%w_.:])([%a_][%w_]*)%.([%a_][%w_]*)" do
      if found[name] and before then list[#list + 1] = { found[name], field } end
    end
    return list
  end

  it("have what is taken from them", function()
    local bad, n = {}, 0
    for _, path in ipairs(files "find lua -name '*.lua'") do
      for _, pair in ipairs(taken(helper.read(path))) do
        local known <const>, module = pcall(require, pair[1])
        if known and type(module) == "table" then
          n = n + 1
          if module[pair[2]] == nil then
            bad[#bad + 1] = ("%s: %s.%s"):format(path, pair[1], pair[2])
          end
        end
      end
    end
    assert.same({}, bad)
    assert.is_true(n > 1000)
  end)

  it("point downwards, and a report knows no source", function()
    local bad = {}
    for _, path in ipairs(files "find lua/sonde -name '*.lua'") do
      local from <const> = path:match "^lua/sonde/([%w_]+)"
      for module in helper.read(path):gmatch 'require%s*%(?%s*"(sonde%.[%w_.]+)"' do
        local to <const> = module:match "^sonde%.([%w_]+)"
        local is_up <const> = RANKS[from] and RANKS[to] and RANKS[to] < RANKS[from]
        if is_up or from == "report" and SOURCES[to] then
          bad[#bad + 1] = ("%s: %s"):format(path, module)
        end
      end
    end
    assert.same({}, bad)
  end)
end)

describe("every file", function()
  it("is shorter than 500 lines", function()
    local long = {}
    local search <const> = "find src lua spec examples bench -name '*.[ch]' -o -name '*.lua'"
    for _, path in ipairs(files(search)) do
      local _, n = helper.read(path):gsub("\n", "")
      if n > 500 then long[#long + 1] = ("%s: %d"):format(path, n) end
    end
    assert.same({}, long)
  end)

  it("keeps to its width, without tabs", function()
    local bad = {}
    local function look(path, width)
      local number = 0
      for line in helper.read(path):gmatch("([^\n]*)\n") do
        number = number + 1
        if (utf8.len(line) or #line) > width or line:find("\t", 1, true) then
          bad[#bad + 1] = ("%s:%d"):format(path, number)
        end
      end
    end
    local function look_at(search, width)
      for _, path in ipairs(files(search)) do look(path, width) end
    end
    look_at("find src spec/c -name '*.[ch]' -o -name '*.def'", 80)
    look_at("find lua spec examples bench -name '*.lua'", 100)
    assert.same({}, bad)
  end)

  it("has no unfinished mark", function()
    local words <const> = { "TO" .. "DO", "FIX" .. "ME", "X" .. "XX" }
    for _, word in ipairs(words) do
      local search <const> = "grep -rnw %s src lua spec/*.lua examples bench Makefile || :"
      local out <const> = helper.run(search:format(word))
      assert.equal("", out)
    end
  end)

  it("names no machine, registry or path of where it was written", function()
    local words <const> = {
      "/wo" .. "rk/", "/fa" .. "rm/", "[%s\"'`(=:]/ro" .. "ot/", "deb%.deb" .. "ian",
      "registry%.np" .. "mjs", "api%.nu" .. "get", "proxy%.go" .. "lang",
    }
    local bad = {}
    for _, path in ipairs(tracked()) do
      local text <const> = not path:find("^spec/data/") and helper.read(path) or ""
      for _, word in ipairs(words) do
        if text:find(word) then bad[#bad + 1] = ("%s: %s"):format(path, word) end
      end
    end
    assert.same({}, bad)
  end)

  it("is small: the data of the suite is under 4 MB", function()
    local total = 0
    for _, path in ipairs(tracked()) do
      if path:find("^spec/data/") then total = total + #helper.read(path) end
    end
    assert(total < 4 << 20, total)
  end)
end)
