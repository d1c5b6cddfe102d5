-- Reports of random profiles equal those of `go tool pprof`, where it is
-- installed. Its order of values that are equal but for their sign is left to
-- chance, so the seeds are such that have none.
local helper <const> = require "spec.support.helper"
local random_profile <const> = require "spec.support.random_profile"
local reference <const> = require "spec.support.pprof_commands"

local COMMANDS <const> = {
  "-top", "-top -cum -nodecount=5", "-text -lines", "-text -files", "-text -addresses",
  "-tree", "-tree -mean -lines", "-peek main", "-dot", "-dot -nodecount=8 -edgefraction=0.05",
  "-callgrind", "-traces", "-top -focus=main -ignore=poll", "-top -hide=run", "-top -show=work",
  "-traces -show_from=main", "-traces -prune_from=work", "-top -tagfocus=route=/r1,/r2",
  "-top -tagfocus=bytes=1kb:64kb", "-dot -tagshow=route", "-traces -tagroot=route,user",
  "-traces -tagleaf=bytes", "-tree -noinlines", "-top -drop_negative",
  "-top -relative_percentages -focus=main", "-top -divide_by=7", "-list main",
  "-raw", "-raw -focus=main -hide=run", "-raw -show_from=main", "-raw -prune_from=work",
  "-raw -tagfocus=route=/r1,/r2 -taghide=user",
}
local SEEDS <const> = { 12, 29 }

-- What the older tool at hand writes in another way, or knows nothing of.
local function without_time(text)
  return (text:gsub("\\lTime: .-\\l", "\\l"):gsub("\nTime: [^\n]*", "")
    :gsub("\nDoc: [^\n]*", ""):gsub("(:%d+):%d+( s=%d)", "%1%2"))
end

local function reference_text(directory, command)
  local tool <const> = "TZ=UTC HOME=. PPROF_TMPDIR=. go tool pprof -symbolize=none"
  return helper.run(("cd %s && %s %s p.pb"):format(directory, tool, command))
end

describe("reports of random profiles", function()
  for _, seed in ipairs(SEEDS) do
    it("equal those of go tool pprof, seed " .. seed, function()
      helper.needs("go")
      helper.in_directory(function(directory)
        helper.write(directory .. "/p.pb", random_profile.bytes(seed))
        local sonde <const> = require "sonde"
        -- The tool at hand adds equal samples of one file up, too.
        local profile <const> = assert(sonde.merge { assert(sonde.open(directory .. "/p.pb")) })
        for _, words in ipairs(COMMANDS) do
          local command <const> = reference.parse("go tool pprof " .. words .. " p.pb")
          local theirs <const> = without_time(reference_text(directory, words))
          local ours = profile:where(command.filters, command.report == "raw")
            :render(command.report, command.opts)
          if ours then
            assert.same(reference.body(theirs, command.report),
              reference.body(without_time(ours), command.report), words)
          end
        end
      end)
    end)
  end

  it("are the same on every machine", function()
    assert.equal(random_profile.bytes(1), random_profile.bytes(1))
    assert.are_not.equal(random_profile.bytes(1), random_profile.bytes(2))
  end)
end)
