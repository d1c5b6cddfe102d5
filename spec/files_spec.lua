local errors <const> = require "sonde.base.errors"
local files <const> = require "sonde.base.files"
local helper <const> = require "spec.support.helper"
local term <const> = require "sonde.base.term"

local function names_in(directory)
  return helper.lines((helper.run("ls -A " .. directory)))
end

local function put(text)
  return function(out) out:write(text) return true end
end

describe("files.write", function()
  it("writes beside the name and renames when complete", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/out"
      local during
      assert(files.write(path, function(out)
        out:write("a", 1):write("b")
        during = names_in(directory)
        return true
      end))
      assert.equal(1, #during)
      assert.matches("^out%.%x+%.part$", during[1])
      assert.equal("a1b", helper.read(path))
      assert.same({ "out" }, names_in(directory))
    end)
  end)

  it("keeps the older file when anything fails", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/out"
      helper.write(path, "old")
      local done, message, code = files.write(path, function(out)
        out:write("new")
        return nil, "no samples", "no_samples"
      end)
      assert.is_nil(done)
      assert.same({ "no samples", "no_samples" }, { message, code })
      assert.has_error(function() files.write(path, function() error("boom") end) end)
      assert.equal("old", helper.read(path))
      assert.same({ "out" }, names_in(directory))
    end)
  end)

  it("writes through a link, and into a device as it is", function()
    helper.in_directory(function(directory)
      helper.write(directory .. "/target", "old")
      helper.run(("ln -s target %s/link"):format(directory))
      assert(files.write(directory .. "/link", put "new"))
      assert.equal("new", helper.read(directory .. "/target"))
      assert.same({ "link", "target" }, names_in(directory))
    end)
    assert(files.write("/dev/null", put "x"))
    local _, status = helper.run("test -c /dev/null")
    assert.equal(0, status)
  end)

  it("names the path and the system's words", function()
    local done, message, code = files.write("/no/such/place", put "x")
    assert.is_nil(done)
    assert.equal("/no/such/place: No such file or directory", message)
    assert.equal("not_found", code)
    done, message, code = files.write("spec", put "x")
    assert.is_nil(done)
    assert.equal("spec: is a directory", message)
    assert.equal("unavailable", code)
  end)

  it("notices that the disk is full", function()
    local done, message, code = files.write("/dev/full", put(("x"):rep(1 << 17)))
    assert.is_nil(done)
    assert.equal("/dev/full: No space left on device", message)
    assert.equal("unavailable", code)
  end)
end)

describe("files.writable", function()
  it("leaves nothing behind, and says why not", function()
    helper.in_directory(function(directory)
      assert.is_true(files.writable(directory .. "/new"))
      assert.equal("", (helper.run("ls -A " .. helper.quote(directory))))
      local done, message, code = files.writable(directory .. "/none/new")
      assert.same({ nil, "not_found" }, { done, code })
      assert.matches("/none/new: No such file or directory", message)
      assert.same({ nil, directory .. ": is a directory", "unavailable" },
        { files.writable(directory) })
    end)
  end)

  it("is asked before a wait that would be in vain", function()
    for _, words in ipairs {
      { "record", "http://127.0.0.1:1", "-o", "/nonexistent/a.pb.gz" },
      { "record", "-p", "1", "--native", "-o", "/nonexistent/a.folded" },
      { "probe", "-b", "/bin/true", "-f", "main", "-o", "/nonexistent/a.svg" },
      { "probe", "-b", "/bin/true", "-f", "main", "--graph", "/nonexistent/a.svg" },
    } do
      local out, status, err = helper.sonde(table.unpack(words))
      assert.same({ "", 3 }, { out, status })
      assert.matches("^sonde: /nonexistent/a%S+: No such file or directory\n", err)
    end
  end)
end)

describe("errors", function()
  it("give every code an exit status", function()
    for _, row in ipairs(errors.codes) do
      assert.is_number(errors.exit[row.exit])
      assert.equal(errors.exit[row.exit], errors.exit_of(row.code))
      assert.is_string(row.meaning)
    end
    assert.equal(3, errors.exit_of(nil))
    assert.equal(3, errors.exit_of("never heard of"))
  end)

  it("are all in docs/errors.md, and nothing else is", function()
    local text <const> = helper.read "docs/errors.md"
    for _, row in ipairs(errors.codes) do
      assert(text:find("`" .. row.code .. "`", 1, true), row.code)
    end
    for name, status in pairs(errors.exit) do
      assert(text:find(("\n| %d |"):format(status), 1, true), name)
    end
  end)
end)

describe("term.colored", function()
  local function with(environment, fd)
    return term.colored(fd or 99, function(name) return environment[name] end)
  end

  it("obeys NO_COLOR, then CLICOLOR_FORCE, then the terminal", function()
    assert.is_false(with {})
    assert.is_true(with { CLICOLOR_FORCE = "1" })
    assert.is_false(with { CLICOLOR_FORCE = "0" })
    assert.is_false(with { CLICOLOR_FORCE = "1", NO_COLOR = "1" })
    assert.is_true(with { CLICOLOR_FORCE = "1", NO_COLOR = "" })
  end)

  it("has a width without a terminal too", function()
    assert.is_true(term.columns(99) == 80)
  end)
end)

describe("term.status", function()
  it("is silent where there is no terminal", function()
    local said = {}
    local out <const> = { write = function(_, ...) said[#said + 1] = table.concat { ... } end,
      flush = function() end }
    term.status(out, false)("x")
    assert.same({}, said)
    local show <const> = term.status(out, true)
    show("too early")
    show(nil)
    assert.same({}, said)
  end)
end)
