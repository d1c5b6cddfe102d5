-- Pseudonyms of names and paths: what is replaced, what stays, in which shape.
local redact <const> = require "sonde.redact"
local siphash <const> = require "sonde.redact.siphash"

-- What a template such as "{Shop}.{Cart}.Main" is with a redactor's words.
local function fill(r, template)
  return (template:gsub("{([^}]*)}", function(word) return r.words:replace(word) end))
end

describe("the keyed hash", function()
  it("is SipHash-2-4", function()
    local k0 <const>, k1 = ("<i8i8"):unpack("\0\1\2\3\4\5\6\7\8\9\10\11\12\13\14\15")
    local function of(n)
      local bytes = {}
      for i = 1, n do bytes[i] = string.char(i - 1) end
      return ("%016x"):format(siphash.hash(k0, k1, table.concat(bytes)))
    end
    -- From the reference implementation's vectors.
    assert.same({ "726fdb47dd0e0e31", "93f5f5799a932462", "a129ca6149be45e5" },
      { of(0), of(8), of(15) })
  end)

  it("makes the same key of the same words, and another one each time without", function()
    assert.same({ siphash.key_of "ticket 5" }, { siphash.key_of "ticket 5" })
    assert.are_not.same({ siphash.key_of "ticket 5" }, { siphash.key_of "ticket 6" })
    assert.are_not.same({ siphash.random_key() }, { siphash.random_key() })
  end)
end)

describe("a pseudonym", function()
  it("is the same for the same name, key and word", function()
    local a <const>, b <const> = redact.new { key = "k" }, redact.new { key = "k" }
    assert.equal(a:name "Shop.Cart.Add(int)", b:name "Shop.Cart.Add(int)")
    assert.are_not.equal(a:name "Shop.Cart.Add(int)", redact.new { key = "l" }
      :name "Shop.Cart.Add(int)")
    assert.are_not.equal(redact.new():name "Shop.Cart", redact.new():name "Shop.Cart")
  end)

  it("is never shared by two words", function()
    local r <const> = redact.new { key = "k" }
    local seen = {}
    for i = 1, 50000 do
      local code <const> = r.words:replace("word" .. i)
      assert.is_nil(seen[code])
      seen[code] = true
    end
  end)

  it("keeps what says the kind of a name", function()
    local r <const> = redact.new { key = "k" }
    for word, pattern in pairs {
      OrderService = "^X%w+$", processOrders = "^x%w+$", IOrderStore = "^IX%w+$",
      SaveAsync = "^X%w+Async$", OrderException = "^X%w+Exception$", get_Total = "^get_X%w+$",
      op_Addition = "^op_X%w+$", _cache = "^_x%w+$", __hidden = "^__x%w+$", g__Local = "^g__X%w+$",
      InvokeStub_Order = "^InvokeStub_X%w+$",
    } do
      local code <const> = r.words:replace(word)
      assert(code:find(pattern), word .. " " .. code)
      assert.is_nil(code:find("rder"), code)
    end
  end)
end)

describe("a name", function()
  local r <const> = redact.new { key = "k" }
  local CORELIB <const>, OWN <const> = "/dotnet/System.Private.CoreLib.dll", "/app/Shop.dll"
  for _, case in ipairs {
    { "System.Threading.Monitor.Enter(object, ref bool)", nil, CORELIB },
    { "Shop.Orders.Cart.SaveAsync (async)", "{Shop}.{Orders}.{Cart}.{SaveAsync} (async)", OWN },
    { "Shop.Program.Main lambda(long)", "{Shop}.{Program}.Main lambda(long)", OWN },
    { "Shop.Cart..ctor(ILogger<Cart>, CancellationToken)",
      "{Shop}.{Cart}..ctor(ILogger<{Cart}>, CancellationToken)", OWN },
    { "System.Collections.Generic.Dictionary<Shop.Order, int>.FindValue(ref Shop.Key)",
      "System.Collections.Generic.Dictionary<{Shop}.{Order}, int>.FindValue(ref {Shop}.{Key})",
      CORELIB },
    { "System.Collections.Generic.Dictionary`2[System.__Canon,Shop.Order].FindValue(!0&)",
      "System.Collections.Generic.Dictionary`2[System.__Canon,{Shop}.{Order}].FindValue(!0&)",
      CORELIB },
    { "Shop.Cart+<SaveAsync>d__12.MoveNext()", "{Shop}.{Cart}+<{SaveAsync}>d__12.MoveNext()", OWN },
    { "System.Net.Http.HttpClient+<SendAsync>d__5.MoveNext()", nil, "/x/System.Net.Http.dll" },
    { "Shop.Cart+<>c__DisplayClass33_1+<<Outer>g__Inner|1>d.MoveNext()",
      "{Shop}.{Cart}+<>c__DisplayClass33_1+<<{Outer}>g__{Inner}|1>d.MoveNext()", OWN },
    -- A namespace of the framework does not make one's own module a framework.
    { "System.Text.Generated.OrderRegex.Run()", "{System}.{Text}.{Generated}.{OrderRegex}.{Run}()",
      OWN },
    -- Nor does a framework's module make its own what is called otherwise.
    { "Contoso.Helper.Run()", "{Contoso}.{Helper}.{Run}()", "/x/Microsoft.Contoso.dll" },
    { "Shop!Shop.Cart.Add(class System.Collections.Generic.List`1<class Shop.Line>)",
      "{Shop}!{Shop}.{Cart}.{Add}(class System.Collections.Generic.List`1<class {Shop}.{Line}>)" },
    { "System.Private.CoreLib!System.String.Concat(class System.String)", nil },
    { "main.main", nil, "/app/shop" }, { "main.processOrders.func1", "main.{processOrders}.func1" },
    { "net/http.(*conn).serve", nil, "/app/shop" },
    { "runtime.mallocgc", nil, "/app/shop" },
    { "github.com/acme/my-sort/orders.(*Service).Run",
      "{github}.{com}/{acme}/{my}-{sort}/{orders}.(*{Service}).{Run}", "/app/shop" },
    { "std::vector<Shop::Order>::push_back(Shop::Order const&)",
      "std::vector<{Shop}::{Order}>::push_back({Shop}::{Order} const&)" },
    { "malloc", nil, "/lib/x86_64-linux-gnu/libc.so.6" },
    { "malloc", "{malloc}", "/app/libshop.so" },
    { "[unknown 0x7f0012ab]", nil }, { "[native]", nil }, { "[stack cut at 100 frames]", nil },
    { "[libshop.so]", "[lib{shop}.so]" }, { "", nil },
  } do
    it("is redacted in its shape: " .. case[1], function()
      assert.equal(case[2] and fill(r, case[2]) or case[1], r:name(case[1], case[3]))
    end)
  end

  it("of a type in an exception's place", function()
    assert.equal(fill(r, "{Shop}.{OrderException}"), r:type_name "Shop.OrderException")
    assert.equal("System.IO.IOException", r:type_name "System.IO.IOException")
    assert.equal(fill(r, "instance void [{Shop}] {Shop}.{Cart}::{Add}()"),
      r:type_name "instance void [Shop] Shop.Cart::Add()")
  end)

  it("of anything ends, and has no more and no fewer brackets than before", function()
    math.randomseed(11)
    local alphabet <const> = "Aa1_.+`<>[](),:/|-& !*\xc3\x28\0"
    for _ = 1, 3000 do
      local pieces = {}
      for i = 1, math.random(0, 40) do
        local at <const> = math.random(#alphabet)
        pieces[i] = alphabet:sub(at, at)
      end
      local text <const> = table.concat(pieces)
      local shown <const> = r:name(text, "/app/Shop.dll")
      local _, before = text:gsub("[%[%]<>()]", "")
      local _, after = shown:gsub("[%[%]<>()]", "")
      assert.equal(before, after, text)
    end
  end)
end)

describe("a path", function()
  local r <const> = redact.new { key = "k" }
  for from, to in pairs {
    ["/home/bob/src/shop/Orders.Api.dll"] = "/home/{bob}/src/{shop}/{Orders}.{Api}.dll",
    ["/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.9/System.Private.CoreLib.dll"] =
      "/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.9/System.Private.CoreLib.dll",
    ["C:\\Users\\Bob\\Shop\\bin\\Shop.exe"] = "C:\\Users\\{Bob}\\{Shop}\\bin\\{Shop}.exe",
    ["/usr/local/go/src/net/http/server.go"] = "/usr/local/go/src/net/http/server.go",
    ["/srv/acme/go/src/acme/orders.go"] = "/srv/{acme}/go/src/{acme}/{orders}.go",
    ["api-prod.nettrace.gz"] = "{api}-{prod}.nettrace.gz",
    ["/app/libshop.so.1.2"] = "/app/lib{shop}.so.1.2",
  } do
    it("keeps what every machine has: " .. from, function()
      assert.equal(fill(r, to), r:path(from))
    end)
  end

  it("in a command line has its arguments replaced", function()
    assert.equal(fill(r, "dotnet /{data}/{Shop}.dll --{tenant} {contoso} --{port}=8080"),
      r:command "dotnet /data/Shop.dll --tenant contoso --port=8080")
  end)
end)
