-- The contract of stores, run over each of them.
local helper <const> = require "spec.support.helper"
local backends <const> = require "spec.support.stores"

local SECOND <const> = 1000000000
local START <const> = 1700000000 * SECOND

local function collect(following)
  local list = {}
  for item in assert(following) do list[#list + 1] = item end
  return list
end

local function heap(n)
  local core <const> = require "sonde.c.core"
  require "sonde.profile"
  local profile <const> = core.profile_new {
    types = { { "inuse_objects", "count" }, { "inuse_space", "bytes" } } }
  profile:add({ { name = "main.leak", file = "m.go", line = 3 }, "main.main" }, { n, n * 100 })
  profile:add({ { name = "main.ok", file = "m.go", line = 8 }, "main.main" }, { 5, 500 })
  return profile
end

local function goprof(profile, more)
  local part <const> = { kind = "goprof", key = "42:1", pid = 42, profile = profile,
    fields = { source = "pprof", profile = "heap" },
    payload = { format = "pprof", bytes = profile:encode() } }
  for name, value in pairs(more or {}) do part[name] = value end
  return part
end

local function goroutines(n)
  local list = {}
  for i = 1, n do
    list[i] = { goroutine_id = (1 << 53) + i, state = "chan receive", wait_minutes = i, count = 1,
      frames = { { func = "main.wait", file = "m.go", line = 30 }, { func = "main.main" } },
      created_by = { func = "main.start", file = "m.go", line = 9 }, creator_id = 1,
      labels = { job = "x" }, locked_to_thread = i == 1 or nil, raw = ("goroutine %d\0"):format(i) }
  end
  list[n + 1] = { goroutine_id = 1, state = "running", frames = { { func = "main.main" } } }
  return { kind = "stacks", key = "42:1", pid = 42, fields = { transport = "pprof", format = "go" },
    records = list }
end

local function checkpoint(i, parts)
  return { capture = "c1", checkpoint = { id = "k" .. i, taken_at = START + i * SECOND,
    reason = i == 1 and "manual" or "periodic" }, parts = parts }
end

-- Three checkpoints of one process; its goroutines grow.
local function fill(store)
  assert(store:capture { id = "c1", root_pid = 42, root_key = "42:1", host = "h", service = "s",
    started_at = START, kinds = { "goprof", "stacks" }, params = { every = "1s" } })
  for i = 1, 3 do
    assert(store:write(checkpoint(i, { goprof(heap(i)), goroutines(4 * i),
      { kind = "stacks", key = "43:1", pid = 43, error = "no such process",
        fields = { transport = "native" } } })))
  end
end

for _, backend in ipairs(backends) do
  describe("the store in " .. backend.name, function()
    local function with_store(use)
      backend.with(function(open)
        local store <close> = assert(open())
        use(store, open)
      end)
    end

    it("gives back what was written", function()
      with_store(function(store)
        fill(store)
        assert.are.same({ "goprof", "stacks" }, store:kinds())
        local records <const> = collect(store:records { kind = "stacks", checkpoint = "k1" })
        assert.are.equal(6, #records)
        local first <const> = records[1]
        assert.are.same({ kind = "stacks", capture_id = "c1", checkpoint_id = "k1",
          taken_at = START + SECOND, reason = "manual", key = "42:1", pid = 42,
          transport = "pprof", format = "go", goroutine_id = (1 << 53) + 1,
          state = "chan receive", wait_minutes = 1, count = 1, locked_to_thread = true,
          frames = { { func = "main.wait", file = "m.go", line = 30 }, { func = "main.main" } },
          stack_hash = first.stack_hash, created_by = { func = "main.start", file = "m.go",
          line = 9 }, creator_id = 1, labels = { job = "x" }, raw = "goroutine 1\0" }, first)
        assert.are.equal("no such process", records[6].error)
        local values <const> = collect(store:records { kind = "goprof", sort = "-value",
          limit = 2 })
        assert.are.same({ 500, 500 }, { values[1].value, values[2].value })
        assert.are.equal("inuse_space", values[1].sample_type)
        assert.are.equal("bytes", values[1].unit)
        assert.are.equal(12, #collect(store:records { kind = "goprof" }))
        assert.are.equal(12 + 3 * 2 + 24, #collect(store:records()))
      end)
    end)

    it("hashes stacks as documented", function()
      with_store(function(store)
        fill(store)
        local record <const> = collect(store:records { kind = "goprof", func = "leak" })[1]
        -- printf 'main.leak\0m.go\0003main.main\0\0000' | sha256sum
        local out <const> = helper.run(
          "printf 'main.leak\\0m.go\\0003main.main\\0\\0000' | sha256sum")
        assert.are.equal(out:sub(1, 16), record.stack_hash)
        assert.are.equal(6, #collect(store:records { kind = "goprof",
          stack_hash = record.stack_hash }))
      end)
    end)

    it("filters by every kind of field", function()
      with_store(function(store)
        fill(store)
        local function count(opts)
          opts.kind = opts.kind or "stacks"
          return #collect(store:records(opts))
        end
        assert.are.equal(24, count { state = "chan receive" })
        assert.are.equal(27, count { state = { "chan receive", "running", "none" } })
        assert.are.equal(0, count { state = "none" })
        assert.are.equal(3, count { wait_minutes = 4 })
        assert.are.equal(12, count { wait_minutes = { min = 5 }, pid = 42 })
        assert.are.equal(3, count { wait_minutes = "..1" })
        assert.are.equal(3, count { wait_minutes = "9..11" })
        assert.are.equal(3, count { locked_to_thread = true })
        assert.are.equal(3, count { where = { "wait-minutes=9..11", "state=x",
          "state=chan receive" } })
        assert.are.equal(3, count { error = "no such process" })
        assert.are.equal(3, count { pid = 43 })
        assert.are.equal(1, count { goroutine_id = (1 << 53) + 12 })
        assert.are.equal(24, count { func = "^main\\.wait$" })
        assert.are.equal(0, count { func = "nothing" })
        assert.are.equal(6, count { reason = "manual" })
        assert.are.equal(14, count { checkpoint = "last" })
        assert.are.equal(6, count { since = START, ["until"] = START + 2 * SECOND })
        assert.are.equal(0, count { last = "1s" })
        assert.are.equal(30, count { since = "2023-11-14T22:13:20Z" })
        assert.are.equal(0, count { capture = "other" })
        assert.are.equal(3, count { kind = "goprof", value = "100.." , sample_type = "inuse_space",
          func = "leak" })
        for _, wrong in ipairs { { wat = 1 }, { value = 1 }, { wait_minutes = "a.." },
          { sort = "raw" }, { pid = "x" }, { since = "yesterday" } } do
          wrong.kind = "stacks"
          local ok, failure = pcall(store.records, store, wrong)
          assert.is_false(ok)
          assert.is_true(failure.usage)
        end
        local none, _, code = store:records { kind = "nettrace" }
        assert.is_nil(none)
        assert.are.equal("no_samples", code)
      end)
    end)

    it("makes profiles, groups, trends, differences and findings", function()
      with_store(function(store)
        fill(store)
        local profile <const> = assert(store:profile { kind = "goprof" })
        assert.are.same({ { type = "inuse_objects", unit = "count" },
          { type = "inuse_space", unit = "bytes" } }, profile:types())
        assert.are.equal(6 + 15, profile:total "inuse_objects")
        assert.are.equal(105, assert(store:profile { kind = "goprof", checkpoint = "k1" })
          :total "inuse_objects" + 99)
        assert.are.equal(27, assert(store:profile { kind = "stacks" }):total(1))
        local waits <const> = assert(store:profile { kind = "stacks", view = "wait" })
        assert.are.equal(10 + 36 + 78, waits:total(1))
        local none, _, code = store:profile { kind = "goprof", view = "nope" }
        assert.is_nil(none)
        assert.are.equal("no_samples", code)
        local groups <const> = assert(store:groups { kind = "stacks", by = "state" })
        assert.are.same({ "chan receive", 24, 12 },
          { groups[1].name, groups[1].count, groups[1].longest_wait })
        local functions <const> = assert(store:groups { kind = "goprof", by = "function",
          sample_type = "inuse_space" })
        assert.are.same({ "main.main", 2100 }, { functions[1].name, functions[1].value })
        for _, by in ipairs(require("sonde.capture.answers").groupings) do
          local n = 0
          for _, row in ipairs(assert(store:groups { kind = "stacks", by = by })) do
            n = n + row.records
            assert.is_true(row.first <= row.last)
          end
          -- A record is in one group, or in that of each of its functions.
          local all <const> = #collect(store:records { kind = "stacks" })
          assert.is_true(by == "function" or n == all, ("%s: %d of %d"):format(by, n, all))
        end
        local points <const> = assert(store:trend { kind = "goprof", view = "inuse_space",
          func = "leak" })
        assert.are.same({ 100, 200, 300 }, { points[1].flat, points[2].cum, points[3].flat })
        assert.are.equal(800, points[3].total)
        local diff <const> = assert(store:diff("first", "last", { kind = "goprof" }))
        assert.are.equal(200, diff:profile():total "inuse_space")
        local growing <const> = assert(store:growth())
        assert.are.equal(1, #growing)
        assert.are.same({ 4, 8, 12 }, growing[1].counts)
        assert.matches("main.wait grow from 4 to 12", growing[1].message, 1, true)
      end)
    end)

    it("keeps payloads byte for byte", function()
      with_store(function(store)
        fill(store)
        local n = 0
        for bytes, part in assert(store:payloads { kind = "goprof" }) do
          n = n + 1
          assert.are.equal(heap(n):encode(), bytes)
          assert.are.equal("k" .. n, part.checkpoint_id)
        end
        assert.are.equal(3, n)
        local plain <const> = ("\0\1text"):rep(1000)
        assert(store:write(checkpoint(9, { { kind = "goprof", error = "not a profile",
          payload = { format = "bytes", bytes = plain } } })))
        local last
        for bytes in assert(store:payloads { kind = "goprof", checkpoint = "k9" }) do
          last = bytes
        end
        assert.are.equal(plain, last)
      end)
    end)

    it("stores a batch once, however often it is written", function()
      with_store(function(store, open)
        local batch <const> = checkpoint(1, { goprof(heap(1)) })
        assert(store:write(batch))
        assert(store:write(batch))
        local other <close> = assert(open())
        assert(other:write(batch))
        assert.are.equal(4, #collect(store:records { kind = "goprof" }))
        assert(other:write(checkpoint(1, { goroutines(1) })))
        assert.are.equal(2, #collect(store:records { kind = "stacks" }))
        assert.are.equal(1, #store:captures())
      end)
    end)

    -- As two processes of one second whose addresses are alike, or whose host seeds.
    it("stores batches of writers that draw the same numbers", function()
      with_store(function(store)
        for i = 1, 2 do
          package.loaded["sonde.capture.store.batch"] = nil
          local fresh <const> = require "sonde.capture.store.batch"
          math.randomseed(7)
          assert(store:write(fresh.check(checkpoint(i, { goprof(heap(i)) }))))
        end
        math.randomseed(os.time())
        assert.equal(8, #collect(store:records { kind = "goprof" }))
      end)
    end)

    it("lists captures and checkpoints", function()
      with_store(function(store)
        fill(store)
        assert(store:capture { id = "c1", ended_at = START + 4 * SECOND })
        local captures <const> = store:captures()
        assert.are.equal(1, #captures)
        local c <const> = captures[1]
        assert.are.same({ "c1", 42, "h", "s", START, START + 4 * SECOND, 3, START + SECOND,
          START + 3 * SECOND }, { c.id, c.root_pid, c.host, c.service, c.started_at, c.ended_at,
          c.checkpoints, c.first, c.last })
        assert.are.same({ "goprof", "stacks" }, c.kinds)
        assert.are.same({ every = "1s" }, c.params)
        local list <const> = store:checkpoints(assert(store:query { kind = "stacks" }))
        assert.are.same({ "k1", "k2", "k3" }, { list[1].checkpoint_id, list[2].checkpoint_id,
          list[3].checkpoint_id })
        assert.are.equal(1, list[1].errors)
      end)
    end)

    it("refuses a batch that is none", function()
      with_store(function(store)
        for _, wrong in ipairs { {}, { capture = "c" },
          { capture = "c", checkpoint = { id = "k" } },
          checkpoint(1, { { kind = "nobody's" } }),
          checkpoint(1, { { kind = "goprof", fields = { value = 1 } } }) } do
          assert.has_error(function() store:write(wrong) end)
        end
      end)
    end)

    it("keeps records of a kind of a user's own", function()
      require("sonde.capture.fields").register("spec_kind", {
        { name = "colour", type = "string", at = "record", filter = "terms" },
        { name = "depth", type = "integer", at = "record", filter = "range", sort = true },
      })
      with_store(function(store, open)
        assert(store:write(checkpoint(1, { { kind = "spec_kind", pid = 1,
          records = { { colour = "red", depth = 3 }, { colour = "blue", depth = 1 } } } })))
        local other <close> = assert(open())
        local found <const> = collect(other:records { kind = "spec_kind", sort = "depth" })
        assert.are.same({ "blue", "red" }, { found[1].colour, found[2].colour })
      end)
    end)

    it("prunes and compacts", function()
      with_store(function(store)
        fill(store)
        local gone <const> = assert(store:prune { keep = 10 * SECOND, now = START + 12 * SECOND })
        assert.are.equal(1, gone.checkpoints)
        assert.are.equal(8, #collect(store:records { kind = "goprof" }))
        assert(store:prune { keep = 0, now = START + 12 * SECOND, kind = "goprof" })
        assert.are.same({ "stacks" }, store:kinds())
        assert(store:compact())
        local found <const> = assert(store:check())
        assert.are.same({}, found.problems)
        -- Numbers of names that were thrown away are not used again.
        assert(store:write(checkpoint(20, { goprof(heap(1)) })))
        assert.are.equal("main.leak", collect(store:records { kind = "goprof",
          sort = "value" })[1].frames[1].func)
        assert.are.same({}, assert(store:check()).problems)
      end)
    end)
  end)
end
