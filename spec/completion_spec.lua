-- Completion of command lines, and the manual page.
local helper <const> = require "spec.support.helper"
local pty <const> = require "spec.support.pty"

local text_of_bash

-- The completion, made once.
local function completion()
  text_of_bash = text_of_bash or (helper.sonde("completion", "bash"))
  return text_of_bash
end

-- Runs bash with the completion loaded and `sonde` on its path.
local function bash(script)
  local out
  helper.in_directory(function(directory)
    local path <const> = directory .. "/completion"
    helper.write(path, completion())
    local folder <const> = helper.command:match "^(.*)/"
    local text, status, err = helper.run(("PATH=%s:$PATH bash --norc --noprofile -c %s 2>&1")
      :format(helper.quote(folder), helper.quote(("source %s\n%s"):format(path, script))))
    assert(status == 0, text .. err)
    out = text
  end)
  return out
end

-- What can follow these words, the last of which is being typed.
local function replies(...)
  local words = { ... }
  for i, word in ipairs(words) do words[i] = helper.quote(word) end
  local out <const> = bash(("COMP_WORDS=(%s); COMP_CWORD=%d; _sonde\n"
    .. 'printf "%%s\\n" "${COMPREPLY[@]}"'):format(table.concat(words, " "), #words - 1))
  local set = {}
  for _, line in ipairs(helper.lines(out)) do set[line] = true end
  return set
end

describe("completion in bash", function()
  it("knows verbs", function()
    local set <const> = replies("sonde", "co")
    assert.is_true(set.convert and set.counters and set.completion and set.core)
    assert.is_nil(set.top)
  end)

  it("knows the options of a verb", function()
    local set <const> = replies("sonde", "record", "--ro")
    assert.same({ ["--rotate"] = true }, set)
    assert.is_true(replies("sonde", "diff", "a", "b", "--fail")["--fail-above"])
    assert.is_true(replies("sonde", "report", "peek", "--patt")["--pattern"])
  end)

  it("knows choices of options and arguments", function()
    local names <const> = { full = true, raw = true, pretty = true }
    assert.same(names, replies("sonde", "top", "--names", ""))
    assert.same({ pretty = true }, replies("sonde", "top", "--names", "=", "pr"))
    assert.same(names, replies("sonde", "top", "--names", "=", ""))
    assert.is_true(replies("sonde", "report", "pe").peek)
    assert.same({ compact = true }, replies("sonde", "store", "co"))
    assert.same({ explain = true }, replies("sonde", "policy", "ex"))
    assert.is_true(replies("sonde", "help", "con").convert)
  end)

  it("knows files, processes and policies", function()
    assert.same({ ["README.md"] = true }, replies("sonde", "top", "READ"))
    assert.same({ ["README.md"] = true }, replies("sonde", "top", "x", "-o", "READ"))
    assert.is_true(replies("sonde", "info", "1")["1"])
    assert.is_true(replies("sonde", "record", "-p", "1")["1"])
    assert.is_true(replies("sonde", "top", "-p", "1")["1"])
    assert.is_true(replies("sonde", "watch", "cpu_").cpu_spike)
    assert.is_true(replies("sonde", "policy", "explain", "heap_").heap_growth)
  end)

  it("does not take an option's value for an argument", function()
    assert.is_true(replies("sonde", "store", "--keep", "30d", "pr").prune)
    assert.is_true(replies("sonde", "store", "--keep", "=", "30d", "pr").prune)
  end)

  it("completes a line that is typed", function()
    helper.in_directory(function(directory)
      helper.write(directory .. "/rc", "PS1='ready> '\n" .. completion())
      local folder <const> = helper.command:match "^(.*)/"
      local terminal <close> = pty.start(directory, ("PATH=%s:$PATH INPUTRC=/dev/null TERM=dumb"
        .. " bash --noprofile --rcfile %s/rc -i"):format(folder, directory))
      terminal:expect "ready> "
      terminal:type "sonde conv\t"
      terminal:expect "sonde convert "
      terminal:type "--form\t"
      terminal:expect "--format "
      terminal:type "\3"
      terminal:expect "ready> "
      assert.is_not_nil(terminal:finish())
    end)
  end)

  it("is whole for every verb", function()
    local text <const> = completion()
    for _, name in ipairs(require("sonde.cli").verbs) do
      assert(text:find("\n  " .. name .. ") echo '--help", 1, true), name)
    end
  end)
end)

describe("completion in other shells", function()
  it("is what zsh reads", function()
    local text <const> = helper.sonde("completion", "zsh")
    assert.matches("^#compdef sonde\n", text)
    assert.matches("%-%-names=%[how methods of a trace are named%]:FORM:%(pretty full raw%)", text)
    helper.needs "zsh"
    local _, status, err = helper.run(helper.command .. " completion zsh | zsh -n")
    assert.equal("", err)
    assert.equal(0, status)
  end)

  it("is what fish reads", function()
    local text <const> = helper.sonde("completion", "fish")
    assert.matches("__fish_seen_subcommand_from top' %-l names %-x %-a 'pretty full raw'", text)
    helper.needs "fish"
    local _, status, err = helper.run(helper.command .. " completion fish | fish --no-execute")
    assert.equal("", err)
    assert.equal(0, status)
  end)

  it("is none for others", function()
    local _, status, err = helper.sonde("completion", "bahs")
    assert.equal(2, status)
    assert.matches("'bahs' is neither bash, zsh, fish nor man\ntry: sonde completion bash", err)
  end)
end)

describe("the manual page", function()
  it("has each verb and each of its options", function()
    local page <const> = helper.sonde("completion", "man")
    for _, verb in ipairs(require("sonde.completion.words").verbs()) do
      local from <const> = page:find("\n.SS " .. verb.name .. "\n", 1, true)
      assert(from, verb.name)
      for _, option in ipairs(verb.options) do
        local flag <const> = "\\fB" .. option.flags[#option.flags]:gsub("%-", "\\-") .. "\\fR"
        assert(page:find(flag, from, true), flag)
      end
    end
  end)

  it("is shown by man without a warning", function()
    helper.needs "man"
    local out, status, err = helper.run(helper.command
      .. " completion man | MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -l - 2>&1")
    assert(status == 0, err)
    assert.is_nil(out:find("warning", 1, true))
    assert.matches("what is this process doing%?", out)
  end)
end)
