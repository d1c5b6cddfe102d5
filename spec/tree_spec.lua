local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local tree <const> = require "sonde.process.tree"

local SECOND <const> = 1000000000

-- Looks until something is true of the tree.
local function refreshed(one, is_so)
  local started, ended = {}, {}
  for _ = 1, 200 do
    local new, gone = one:refresh()
    table.move(new, 1, #new, #started + 1, started)
    table.move(gone, 1, #gone, #ended + 1, ended)
    if is_so(started, ended) then return started, ended end
    loop.sleep(SECOND // 20)
  end
  error "the tree did not become so"
end

describe("the process tree", function()
  it("finds children, ends, and children whose parent has ended", function()
    local root <close> = dotnet.spawn { "/bin/sh", "-c",
      "exec 3<&0; sh -c 'sleep 61 & echo middle; read line; exit 0' <&3 & wait; sleep 62; true" }
    assert.truthy(root:line "middle")
    local one <const> = assert(tree.new(root.pid))
    refreshed(one, function() return #one:rows() == 3 end)
    local rows <const> = one:rows()
    assert.equal(root.pid, rows[1].pid)
    assert.same({ 0, 1, 2 }, { rows[1].depth, rows[2].depth, rows[3].depth })
    assert.equal(rows[1].key, rows[2].parent)
    assert.equal("sleep", rows[3].name)
    local orphan <const> = rows[3].key
    root.stdin:write "go\n"
    local started, ended = refreshed(one, function(new, gone) return #gone == 1 and #new == 1 end)
    assert.equal(rows[2].key, ended[1].key)
    assert.equal("sleep", started[1].name)
    local kept = false
    for _, row in ipairs(one:rows()) do kept = kept or row.key == orphan end
    assert.is_true(kept)
    root:kill(9)
    refreshed(one, function() return not one:is_alive() end)
    for _, row in ipairs(one:rows()) do helper.run(("kill -9 %d"):format(row.pid)) end
  end)

  it("takes no process for another that had its number", function()
    local root <close> = dotnet.spawn { "/bin/sleep", "60" }
    local one <const> = assert(tree.new(root.pid))
    one.start_time = one.start_time - 1
    assert.is_false(one:is_alive())
    assert.is_nil(tree.new(99999999))
  end)
end)

describe("sonde dump --tree", function()
  it("shows the .NET processes below one that is none", function()
    local program <const> = dotnet.program("idle", "10.0")
    local root <close> = dotnet.spawn { "/bin/sh", "-c", ("%s; exit 0"):format(program) }
    assert.truthy(root:line "^ready")
    local out, status, err = helper.sonde("dump", tostring(root.pid), "--tree")
    assert.equal(0, status, err)
    assert.matches("Targets.Idle.Program.Sleeper", out)
    assert.matches("left out, .*%(sh%)", err)
    out = helper.sonde("dump", "--json", "--tree", "-p", tostring(root.pid))
    local rows <const> = helper.json_lines(out)
    assert.equal(1, rows[1].schema)
    assert.is_true(rows[1].pid > 0)
    root.stdin:write "quit\n"
    assert.equal(0, (root:wait()))
  end)
end)
