--- The pages that the browser specs look at.
local core <const> = require "sonde.c.core"
local html <const> = require "sonde.report.html"
require "sonde.profile"

local pages = {}

local MODULES <const> = {
  "Shop.Api.dll", "Shop.Data.dll", "System.Private.CoreLib.dll", "System.Text.Json.dll",
  "Npgsql.dll",
}

-- Numbers that look random and are the same on every machine.
local function generator(seed)
  local state = seed
  return function(limit)
    state = (state * 6364136223846793005 + 1442695040888963407)
    return (state >> 33) % limit
  end
end

-- Many distinct stacks: at each depth one of a few functions, the first ones
-- far more often.
local function many_stacks(n, depth)
  local random <const> = generator(7)
  local p <const> = core.profile_new {
    types = { { "samples", "count" }, { "wall", "nanoseconds" } }, default = "wall",
  }
  local frames = {}
  local function frame(level, k)
    local key <const> = level * 100 + k
    frames[key] = frames[key] or {
      name = ("Level%d.Handler%d.Process(System.Int32)"):format(level, k),
      module = MODULES[(level * 3 + k) % #MODULES + 1],
    }
    return frames[key]
  end
  for i = 1, n do
    local stack, height = {}, depth // 2 + random(depth // 2)
    -- The number itself, in the digits of the last frames, makes it distinct.
    local rest = i
    for level = 1, height do
      local k = math.min(random(9), random(9), random(9))
      if level > height - 6 then
        k = rest % 8
        rest = rest // 8
      end
      stack[height - level + 1] = frame(level, k)
    end
    p:add(stack, { 1, 1000000 + random(30000000) }, { thread = "worker " .. random(8) })
  end
  return p
end

local function write(directory, name, page)
  local file <close> = assert(io.open(("%s/%s.html"):format(directory, name), "wb"))
  assert(html.page(page, file))
end

local function of(profile, title, more)
  local page = { title = title, profiles = { { name = "wall", profile = profile } } }
  for key, value in pairs(more or {}) do page[key] = value end
  return page
end

local function counts(rows, types)
  local p <const> = core.profile_new { types = types or { { "samples", "count" } } }
  for _, row in ipairs(rows) do
    local stack = {}
    for name in row[1]:gmatch("[^;]+") do table.insert(stack, 1, name) end
    p:add(stack, { row[2] }, row[3])
  end
  return p
end

-- A small shop: known shares, recursion, two profiles, time order, pauses.
local function shop()
  local function f(name, module) return { name = name, module = module, file = name .. ".cs" } end
  local main <const> = f("Shop.Program.Main", "Shop.Api.dll")
  local run <const> = f("System.Threading.Thread.Run", "System.Private.CoreLib.dll")
  local list <const> = f("Shop.Orders.List", "Shop.Api.dll")
  local walk <const> = f("Shop.Tree.Walk", "Shop.Data.dll")
  local json <const> = f("System.Text.Json.Serialize", "System.Text.Json.dll")
  local write_value <const> = f("System.Text.Json.Write", "System.Text.Json.dll")
  local wait <const> = f("System.Threading.Monitor.Wait", "System.Private.CoreLib.dll")
  local stacks <const> = {
    { { write_value, json, list, main, run }, 40, "main" },
    { { json, list, main, run }, 10, "main" },
    { { walk, walk, walk, list, main, run }, 20, "main" },
    { { list, main, run }, 5, "main" },
    { { wait, run }, 25, "pool" },
  }
  local wall <const> = core.profile_new {
    types = { { "samples", "count" }, { "wall", "nanoseconds" } }, default = "wall",
  }
  local timeline <const> = core.timeline_new(wall)
  local threads <const> = {
    main = timeline:thread { name = "main", id = 1 },
    pool = timeline:thread { name = "pool", id = 2 },
  }
  local now = { main = 0, pool = 0 }
  for _, row in ipairs(stacks) do
    local ns <const> = row[2] * 10000000
    wall:add(row[1], { row[2], ns }, { thread = row[3] })
    timeline:add(threads[row[3]], now[row[3]], ns, row[1])
    now[row[3]] = now[row[3]] + ns
  end
  local alloc <const> = core.profile_new { types = { { "alloc_space", "bytes" } } }
  alloc:add({ write_value, json, list, main }, { 3 << 20 }, { type = "System.Byte[]" })
  alloc:add({ walk, list, main }, { 1 << 20 }, { type = "Shop.Node" })
  return {
    title = "shop.nettrace", summary = "a test", facts = { { "Runtime", "none" } },
    profiles = {
      { name = "wall", label = "Wall time", profile = wall },
      { name = "alloc", label = "Allocations", profile = alloc },
    },
    timeline = { profile = "wall", timeline = timeline },
    tracks = { { name = "GC pauses", rows = {
      { 100000000, 20000000, "generation 0" }, { 500000000, 50000000, "generation 2" },
    } } },
    findings = { { severity = "high", title = "Half of the time goes into JSON", detail = "It is.",
      figure = { text = "50%" }, certainty = "certain", command = "sonde peek shop.nettrace",
      view = "wall", focus = "Serialize" } },
  }
end

local HOSTILE <const> = {
  "</script><script>window.pwned = 1</script>", "<img src=x onerror='window.pwned = 1'>",
  "a\0b", "\xff\xfe not UTF-8 \x80", "quote\" ' ` ${window.pwned = 1}", "new\nline\ttab\r",
  "{{script}} {{data}}", "\u{202e}right to left", "&lt;amp &amp;", "日本語 🦊",
  ("Generic<%s>"):format(("LongTypeArgument,"):rep(240)), " ", "a;b;c",
}

local function hostile()
  local p <const> = core.profile_new { types = { { "<b>t</b>", "</script>" } } }
  for i, name in ipairs(HOSTILE) do
    p:add({ { name = name, module = name, file = name }, { name = "root" } }, { i },
      { ["<key>"] = name })
  end
  return p
end

local function threads(n)
  local p <const> = core.profile_new { types = { { "wall", "nanoseconds" } } }
  local timeline <const> = core.timeline_new(p)
  for i = 1, n do
    local name <const> = ("worker %04d"):format(i)
    local thread <const> = timeline:thread { name = name, id = i }
    p:add({ "Work" .. i % 7, "Run" }, { i * 1000 }, { thread = name })
    timeline:add(thread, i * 1000, i * 1000, { "Work" .. i % 7, "Run" })
  end
  return p, timeline
end

local function sides()
  return counts { { "main;kept;same", 50 }, { "main;grew", 10 }, { "main;gone", 30 },
    { "main;shrank", 40 } },
    counts { { "main;kept;same", 50 }, { "main;grew", 30 }, { "main;new", 60 },
    { "main;shrank", 20 } }
end

--- Writes all pages into a directory.
-- @tparam string directory
function pages.write(directory)
  write(directory, "shop", shop())
  write(directory, "many", of(many_stacks(100000, 40), "many stacks"))
  write(directory, "one", of(counts { { "main;work", 1 } }, "one sample"))
  write(directory, "none", of(counts {}, "no sample"))
  write(directory, "hostile", of(hostile(), HOSTILE[1], {
    summary = HOSTILE[2], facts = { { HOSTILE[1], HOSTILE[2] } },
    findings = { { severity = "low", title = HOSTILE[1], detail = HOSTILE[2], command = HOSTILE[5],
      figure = { text = HOSTILE[3] }, certainty = "hint", focus = HOSTILE[1] } },
  }))
  local p <const>, timeline <const> = threads(1000)
  write(directory, "threads", of(p, "threads",
    { timeline = { profile = "wall", timeline = timeline } }))
  write(directory, "huge", of(counts({
    { "main;large", math.maxinteger }, { "main;larger", math.maxinteger - 1 }, { "main;small", 1 },
  }, { { "big", "count" } }), "huge values"))
  write(directory, "negative", of(counts { { "main;grew", 70 }, { "main;shrank", -30 },
    { "main;least", math.mininteger + 1 } }, "negative values"))
  local before <const>, after <const> = sides()
  before:set_info { duration_ns = 10000000000 }
  after:set_info { duration_ns = 20000000000 }
  local diff <const> = assert(require("sonde.diff").new(before, after))
  write(directory, "diff", { title = "diff", diff = { diff = diff, before = "main",
    after = "branch" } })
end

return pages
