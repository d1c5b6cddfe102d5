-- Filters of profiles, with pprof's meaning of each.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.profiles"

local fold <const>, unfold <const> = profiles.fold, profiles.unfold
local named <const> = profiles.named

describe("filters", function()
  local text <const> = "main;a;b;c 1\nmain;d 2\nmain;a;d 4\nx;b 8"

  local function filtered(option, pattern)
    local p <const> = fold(core, text)
    return unfold(p:filter { [option] = named(p, pattern) })
  end

  it("focus keeps whole samples", function()
    assert.same({ "main;a;b;c 1", "x;b 8" }, filtered("focus", "^b$"))
  end)

  it("ignore beats focus", function()
    local p <const> = fold(core, text)
    assert.same({ "main;d 2" },
                unfold(p:filter { focus = named(p, "^d$"), ignore = named(p, "^a$") }))
  end)

  it("hide and show take frames, and samples without any", function()
    assert.same({ "main;b;c 1", "main;d 2", "main;d 4", "x;b 8" }, filtered("hide", "^a$"))
    assert.same({ "a;b 1", "a 4", "b 8" }, filtered("show", "^[ab]$"))
  end)

  it("show_from cuts callers, prune_from callees", function()
    assert.same({ "a;b;c 1", "a;d 4" }, filtered("show_from", "^a$"))
    assert.same({ "main;a 1", "main;d 2", "main;a 4", "x;b 8" }, filtered("prune_from", "^a$"))
  end)

  it("show_from takes the outermost match, prune_from the innermost", function()
    local p <const> = fold(core, "r;f;g;f;h 1")
    assert.same({ "f;g;f;h 1" }, unfold(p:filter { show_from = named(p, "^f$") }))
    assert.same({ "r;f;g;f 1" }, unfold(p:filter { prune_from = named(p, "^f$") }))
  end)

  it("drop never empties a stack whose root matches", function()
    local p <const> = fold(core, "lock;lock 1\nmain;lock;x 2\nlock;main;lock 4")
    assert.same({ "lock;lock 1", "main 2", "lock;main 4" },
                unfold(p:filter { drop = named(p, "lock") }))
  end)

  it("drop samples without frames only when names are asked for", function()
    local p <const> = fold(core, "a 1")
    p:add({}, 2)
    assert.equal(1, #p:filter { focus = "\1" })
    assert.equal(2, #p:filter { prune_from = "\1" })
    assert.equal(2, #p:filter {})
  end)

  it("leave the receiver alone and keep labels, values and header", function()
    local p <const> = core.profile_new { types = { { "samples", "count" }, { "cpu", "ns" } } }
    p:set_info { comments = { "c" }, period = 5 }
    p:add({ "a", "m" }, { 1, -3 }, { k = "v" })
    p:add({ "b", "m" }, { 2, 4 })
    local q <const> = p:filter { hide = named(p, "^m$"), focus = named(p, "^a$") }
    assert.same({ "m;a 1", "m;b 2" }, unfold(p))
    assert.same({ "a -3" }, unfold(q, 2))
    local _, values, labels = q:samples()()
    assert.same({ 1, -3 }, values)
    assert.same({ k = { "v" } }, labels)
    assert.same({ "c" }, q:info().comments)
    assert.equal(5, q:info().period)
    assert.equal(1, q:frames().n)
  end)

  it("choose label sets by mask or function", function()
    local p <const> = fold(core, "a 1")
    p:add({ "b" }, 2, { k = "x" })
    p:add({ "c" }, 4, { k = "y" })
    assert.same({ {}, { k = { "x" } }, { k = { "y" } } }, p:label_sets())
    assert.same({ "a 1", "c 4" }, unfold(p:filter_labels("\1\0\1")))
    assert.same({ "b 2" }, unfold(p:filter_labels(function(labels)
      return labels.k ~= nil and labels.k[1] == "x"
    end)))
    assert.has_error(function() p:filter_labels("\1") end)
    assert.has_error(function() p:filter_labels(error) end)
  end)

  it("fold runs of one function", function()
    local p <const> = fold(core, "main;f;f;f;g;f;f 3\nmain;f 1\nf;f;f 2")
    assert.same({ "main;f;g;f 3", "main;f 1", "f 2" }, unfold(p:fold_recursion()))
  end)

  -- Made by google/pprof's own package: see spec/data/README.md.
  local function mask_of(p, pattern, by_function)
    return profiles.mask(p, function(name, file, module)
      if by_function then return name ~= "" and name:gsub("%(.*", ""):find(pattern) end
      return name ~= "" and (name:find(pattern) or file:find(pattern)) or module:find(pattern)
    end)
  end

  local function without(mask, other)
    return (mask:gsub("()(.)", function(i, byte) return other:byte(i) == 0 and byte or "\0" end))
  end

  local function masks_of(p, operation, a, b, c)
    if operation == "combo" then
      return { focus = mask_of(p, a), hide = mask_of(p, b), show_from = mask_of(p, c),
               prune_from = mask_of(p, a, true) }
    elseif operation == "combo2" then
      return { drop = without(mask_of(p, b, true), mask_of(p, c, true)), ignore = mask_of(p, c),
               show = mask_of(p, b), show_from = mask_of(p, b), prune_from = mask_of(p, b, true) }
    end
    local by_function <const> = operation == "drop" or operation == "prune_from"
    return { [operation] = mask_of(p, a, by_function) }
  end

  local function print_samples(p, out)
    local f <const> = p:frames()
    for stack, values, labels in p:samples() do
      local frames, pairs_of = {}, {}
      for i, k in ipairs(stack) do
        local name <const> = f.name[k] == "" and "?"
                             or ("%s:%s:%d"):format(f.name[k], f.file[k], f.line[k])
        frames[i] = ("%s@%x[%s]"):format(name, f.address[k], f.module[k])
      end
      for key, list in pairs(labels or {}) do
        pairs_of[#pairs_of + 1] = ("%s=[%s]"):format(key, table.concat(list, " "))
      end
      table.sort(pairs_of)
      out[#out + 1] = ("[%s] %s {%s}"):format(table.concat(values, " "),
                                              table.concat(frames, " "),
                                              table.concat(pairs_of, ","))
    end
  end

  it("agree with google/pprof on random profiles, as does merge", function()
    local patterns <const> = { "^a", "b", "a.go", "x.so", "^c$", "/" }
    local operations <const> = { "focus", "ignore", "hide", "show", "show_from", "prune_from",
                                 "drop", "combo", "combo2" }
    for seed = 0, 10 do
      local base <const> = helper.data("pprof/random/")
      local p <const> = assert(core.pprof_decode(helper.read(base .. seed .. ".pb")))
      local next_one <const> = assert(core.pprof_decode(helper.read(base .. seed + 1 .. ".pb")))
      local out = {}
      for _, operation in ipairs(operations) do
        for i, pattern in ipairs(patterns) do
          out[#out + 1] = ("## %s %d"):format(operation, i - 1)
          print_samples(p:filter(masks_of(p, operation, pattern, patterns[i % 6 + 1],
                                          patterns[(i + 1) % 6 + 1])), out)
        end
      end
      local merged <const> = assert(core.merge { { p }, { next_one, -1 } })
      out[#out + 1] = "## merge 0"
      print_samples(merged, out)
      out[#out + 1] = "## bytes 0"
      assert.equal(profiles.gunzip(base .. seed .. ".filters.gz"), table.concat(out, "\n") .. "\n")
      assert.equal(helper.read(base .. seed .. ".merged"), merged:encode { gzip = false })
    end
  end)

  local function print_graph(g, out)
    local lines = {}
    for _, n in ipairs(g.nodes) do
      lines[#lines + 1] = ("N %s %d %d"):format(n.name, n.flat, n.cum)
    end
    for _, e in ipairs(g.edges) do
      lines[#lines + 1] = ("E %s -> %s %d r=%s i=%s"):format(g.nodes[e.from].name,
        g.nodes[e.to].name, e.value, e.residual, e.inline)
    end
    table.sort(lines)
    table.move(lines, 1, #lines, #out + 1, out)
  end

  it("agree with google/pprof's graph on random profiles", function()
    for seed = 0, 10 do
      local base <const> = helper.data("pprof/random/" .. seed)
      local p <const> = assert(core.pprof_decode(helper.read(base .. ".pb")))
      local names <const> = p:frames().name
      local out = {}
      for _, by in ipairs { "function", "filefunction", "line", "address" } do
        out[#out + 1] = ("## %s false"):format(by)
        print_graph(p:graph { by = by, type = 2, edges = true }, out)
        local node_of <const> = p:graph({ by = by, type = 2, node_of = true }).node_of
        local keep = {}
        for i, name in ipairs(names) do
          local is_kept = node_of[i] ~= 0 and (name == "" or name:byte() % 2 == 0)
          keep[i] = is_kept and "\1" or "\0"
        end
        out[#out + 1] = ("## %s true"):format(by)
        print_graph(p:graph { by = by, type = 2, edges = true, keep = table.concat(keep) }, out)
      end
      assert.equal(profiles.gunzip(base .. ".graph.gz"), table.concat(out, "\n") .. "\n")
    end
  end)
end)
