-- Every command of the README and of docs: those about files are run, those about
-- processes are checked to be ones that the command line takes.
local helper <const> = require "spec.support.helper"
local sample_store <const> = require "spec.support.sample_store"
local words <const> = require "sonde.completion.words"

local PAGES <const> = helper.lines((helper.run "ls README.md docs/*.md"))

-- What cannot be run here, and which specs run such commands.
local LIVE <const> = {
  { " %-p%s", "a running process: record_spec, top_live_spec, events_live_spec" },
  { "https?://", "a Go program: golang_live_spec" },
  { "%f[%w]4242%f[%W]", "a running process: launch_spec, doctor_spec" },
  { "^sonde record ", "a running process or a program to start: record_spec, launch_spec" },
  { "^sonde dump Api", "a running process: dump_spec" },
  { "^sonde top Api", "a running process: top_live_spec" },
  { "^sonde probe ", "root and a kernel that lets one probe: probe_spec, probe_kernel_spec" },
  { "^sonde watch ", "processes, for ever: watch_spec" },
  { "^sonde capture ", "a running process: capture_spec" },
  { "clickhouse://", "a ClickHouse server: store_spec" },
  { "^sonde shell [^-]*$", "a terminal: shell_terminal_spec" },
  { "^curl ", "a Go program: golang_live_spec" },
  { "^sonde diff native", "a process that both samplers looked at: waits_spec" },
}

-- What is no command but its form: words in capitals, a choice or an ellipsis.
local function is_form(line)
  local rest <const> = line:gsub("'[^']*'", ""):gsub("%-%-?[%w-]+ [A-Z:=|]+", "")
  return line:find("…", 1, true) ~= nil or line:find("\\|", 1, true) ~= nil
    or rest:find("%f[%w]%u%u+%f[%W]") ~= nil
end

-- A command without what its page says beside it.
local function bare(line)
  line = line:gsub("^%$ ", ""):gsub("%s+# .*$", "")
  return (line:gsub("%S%s%s+.*$", function(rest) return rest:sub(1, 1) end):gsub("%s+$", ""))
end

-- The commands of a page: lines of blocks, and the cells of the README's table.
local function commands_of(path)
  local list, in_block = {}, false
  for _, line in ipairs(helper.lines(helper.read(path))) do
    if line:find "^```" then in_block = not in_block end
    local indented <const> = line:match "^    (sonde .*)$"
    local fenced <const> = in_block and line:match "^%$? ?(sonde .*)$"
    local cell <const> = line:match "^| [^|]*| `(sonde [^`]+)` |$"
    local command <const> = indented or fenced or cell
    if command then list[#list + 1] = bare(command) end
  end
  return list
end

local function reason_of(command)
  for _, row in ipairs(LIVE) do
    if command:find(row[1]) then return row[2] end
  end
end

-- The files that the pages speak of, as samples, in a directory of their own.
local SAMPLES <const> = {
  ["demo.nettrace"] = { "api.nettrace", "monday.nettrace", "tuesday.nettrace",
    "main.nettrace", "branch.nettrace", "before.nettrace", "after.nettrace" },
  ["cases/30-diff-percentages/before.folded"] = { "before.pb.gz", "heap.pb.gz" },
  ["cases/30-diff-percentages/after.folded"] = { "after.pb.gz" },
  ["dumps/lock-order.txt"] = { "goroutines.txt", "server.log", "before.txt", "after.txt" },
  ["policy/busy.csv"] = { "day.csv", "timeline.csv" },
}

local BUSY <const> = [[return {
  summary = "busy", trigger = { metric = "cpu", above = 80, ["for"] = "10s" },
  actions = { { log = "busy" } } }]]

local function furnish(directory)
  local here <const> = helper.run("pwd"):match "^(.-)\n"
  local function link(target, name)
    helper.run(("ln -s %s %s/%s"):format(helper.quote(target), directory, name))
  end
  for sample, names in pairs(SAMPLES) do
    for _, name in ipairs(names) do link(("%s/%s"):format(here, helper.data(sample)), name) end
  end
  link(here .. "/spec", "spec")
  helper.write(directory .. "/busy.lua", BUSY)
  helper.write(directory .. "/questions", "top2\n")
  sample_store.fill(directory .. "/captures.db")
  return ("cd %s && PATH=%s:$PATH && export XDG_CONFIG_HOME=%s/config && "):format(
    directory, helper.quote(here .. "/" .. helper.command:match "^(.*)/"), directory)
end

local by_verb <const> = {}
for _, verb in ipairs(words.verbs()) do
  local known = { ["-h"] = true }
  for _, flag in ipairs(words.flags(verb.options)) do known[flag] = true end
  by_verb[verb.name] = known
end

-- Options of kinds and transports that a page shows how to write.
local OF_OWN_KINDS <const> = { ["--at-least"] = true }

-- Flags of a command that its verb does not have.
local function unknown_flags(command)
  command = command:gsub(" %-%- .*$", ""):gsub("'[^']*'", "X"):gsub("%s+[|&;] ?.*$", "")
  local known <const> = by_verb[command:match "^sonde (%l+)%f[%s\0]"]
  local bad = {}
  for flag in command:gmatch "%s(%-%-?[%l%d-]+)" do
    local is_known <const> = known == nil or known[flag] or OF_OWN_KINDS[flag]
    if not is_known and not flag:find "^%-%d" then bad[#bad + 1] = flag end
  end
  return bad
end

describe("what is not run here", function()
  it("is run by specs that are there", function()
    for _, row in ipairs(LIVE) do
      for name in row[2]:gmatch "[%w_]+_spec" do
        assert.truthy(helper.read(("spec/%s.lua"):format(name)), name)
      end
    end
  end)
end)

describe("the commands of", function()
  for _, page in ipairs(PAGES) do
    local commands <const> = commands_of(page)
    if #commands > 0 then
      it(page .. " run", function()
        helper.in_directory(function(directory)
          local prefix <const> = furnish(directory)
          for _, command in ipairs(commands) do
            assert.same({}, unknown_flags(command), command)
            if not is_form(command) and reason_of(command) == nil then
              local line <const> = command:gsub(" && go tool.*$", "")
              local _, status, err = helper.run(prefix .. line .. " </dev/null")
              -- A sample need not hold what a command looks for.
              assert(status == 0 or status == 1, ("%s: %d\n%s"):format(line, status, err))
            end
          end
        end)
      end)
    end
  end

  it("the pages are many", function()
    local count, run = 0, 0
    for _, page in ipairs(PAGES) do
      for _, command in ipairs(commands_of(page)) do
        count = count + 1
        if not is_form(command) and reason_of(command) == nil then run = run + 1 end
      end
    end
    assert(count >= 100 and run >= 40, ("%d commands, %d run"):format(count, run))
  end)
end)

describe("a page", function()
  it("links to pages and files that are there", function()
    for _, page in ipairs(PAGES) do
      local folder <const> = page:match "^(.*/)" or ""
      for target in helper.read(page):gmatch "%]%(([^)#]+)[^)]*%)" do
        if not target:find "^https?:" then
          local _, status = helper.run("test -e " .. helper.quote(folder .. target))
          assert(status == 0, ("%s: %s"):format(page, target))
        end
      end
    end
  end)

  it("is in the index", function()
    local index <const> = helper.read "docs/README.md"
    for _, page in ipairs(PAGES) do
      local name <const> = page:match "^docs/(.*)$"
      if name and name ~= "README.md" then
        assert(index:find("](" .. name .. ")", 1, true), name)
      end
    end
  end)
end)

describe("the help of a verb", function()
  -- Of these the output's format chooses the options: `sonde help convert -o x.svg`.
  local BY_FORMAT <const> = { report = true, convert = true, diff = true }

  it("tells the options of all that it takes, and no example is broken", function()
    for _, verb in ipairs(words.verbs()) do
      local out <const> = helper.sonde("help", verb.name)
      for _, option in ipairs(BY_FORMAT[verb.name] and {} or verb.options) do
        for _, flag in ipairs(option.flags) do
          assert(out:find("%f[-]" .. flag:gsub("%-", "%%-") .. "%f[^%w-]"), verb.name .. flag)
        end
      end
      for example in (out .. "\n\n"):gmatch "\nExamples:\n(.-)\n\n" do
        for _, line in ipairs(helper.lines(example)) do
          assert(line:find "^   sonde " or line:find "^   eval ", line)
        end
      end
    end
  end)

  it("has a row in the page of the command", function()
    local page <const> = helper.read "docs/cli.md"
    for _, verb in ipairs(words.verbs()) do
      assert(page:find("[|,] `" .. verb.name .. "[ `]"), verb.name)
    end
  end)
end)

describe("the architecture", function()
  it("names each folder", function()
    -- `src/{a,b}/` is two of them.
    local named = {}
    for name in helper.read "docs/architecture.md":gmatch "`([%w_/.{},]+)" do
      local before <const>, list <const> = name:match "^(.-){(.-)}"
      for part in (list or name):gmatch "[^,]+" do
        named[((before or "") .. part):gsub("^lua/sonde/", ""):gsub("/$", "")] = true
      end
    end
    for _, path in ipairs(helper.lines((helper.run "find src lua/sonde -mindepth 1 -type d"))) do
      assert(named[path:gsub("^lua/sonde/", "")], path)
    end
  end)
end)

describe("a function that a page calls", function()
  local text <const> = helper.run "cat $(find lua src -name '*.lua' -o -name '*.[ch]')"
  local known = {}
  for _, pattern in ipairs { "function [%w_.]+[.:]([%w_]+)%s*%(", "{ ?\"([%w_]+)\",",
    "([%w_]+) = function", "lua_setfield%(L, %-2, \"([%w_]+)\"" } do
    for name in text:gmatch(pattern) do known[name] = true end
  end
  -- Policies are functions of a table, and Lua's own are there.
  local OWN <const> = { string = true, table = true, io = true, os = true, math = true }

  it("is there", function()
    local count = 0
    for _, page in ipairs(PAGES) do
      local body <const> = helper.read(page)
      for object, name in body:gmatch "%f[%w_]([%l_][%w_]*)[:.]([%l_]+)%(" do
        assert(OWN[object] or known[name], ("%s: %s.%s"):format(page, object, name))
        count = count + 1
      end
    end
    assert(count > 50, count)
  end)

  it("is there, also where it is only named, in the page of parity", function()
    for object, name in helper.read "docs/parity.md":gmatch "`([%l_]+):([%l_]+)`" do
      assert(known[name], ("%s:%s"):format(object, name))
    end
  end)
end)
