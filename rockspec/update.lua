-- Brings the lists of the rockspec up to date with the tree: luarocks wants
-- every file named, and gives a rockspec no way to look.
-- Usage: lua5.4 rockspec/update.lua [--check]
local PATH <const> = "rockspec/sonde-scm-1.rockspec"

-- Modules that need a library which not everybody has: a rock of their own each,
-- and what they share with the core compiled into them. A library is looked for
-- by its own file and not by a header: luarocks does not find the headers that
-- Debian keeps for each architecture.
local OPTIONAL <const> = {
  { name = "http", summary = "profiles over HTTP", folders = { "src/http", "src/lua/http" },
    external = "CURL", library = "curl", libraries = { "curl", "z", "m" } },
  { name = "native", summary = "symbols and probes of native processes",
    folders = { "src/symbols", "src/probe", "src/lua/native" },
    shared = { "src/elf", "src/profile", "src/pprof" }, external = "DW", library = "dw",
    libraries = { "dw", "elf", "iberty", "z", "m" } },
  { name = "sqlite", summary = "the store in one file", folders = { "src/lua/sqlite" },
    external = "SQLITE", library = "sqlite3", libraries = { "sqlite3", "z", "m" } },
}

-- The files of a folder that belong to the project: in a checkout those that
-- git knows, so that work in progress does not count.
local function listed(folder, extension)
  local git <const> = ("git ls-files '%s/*.%s' 2>/dev/null | grep ."):format(folder, extension)
  local find <const> = ("find %s -name '*.%s' 2>/dev/null"):format(folder, extension)
  local pipe <const> = io.popen(("%s || %s"):format(git, find), "r")
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  pipe:close()
  table.sort(lines)
  return lines
end

local is_optional <const> = {}
for _, module in ipairs(OPTIONAL) do
  for _, folder in ipairs(module.folders) do is_optional[folder] = true end
end

local function quoted(paths)
  local lines = {}
  for i, path in ipairs(paths) do lines[i] = ("        %q,\n"):format(path) end
  return table.concat(lines)
end

local function sources()
  local paths = {}
  for _, path in ipairs(listed("src", "c")) do
    if not is_optional[path:match("^(.*)/")] then paths[#paths + 1] = path end
  end
  return quoted(paths)
end

local function key_of(path)
  local name <const> = path:match("^lua/(.*)%.lua$"):gsub("/init$", ""):gsub("/", ".")
  return name:find("%.") and ("[%q]"):format(name) or name
end

local function modules()
  local lines = {}
  for _, path in ipairs(listed("lua", "lua")) do
    if path ~= "lua/sonde/main.lua" then
      lines[#lines + 1] = ("    %s = %q,\n"):format(key_of(path), path)
    end
  end
  return table.concat(lines)
end

-- What modules read from beside them. luarocks takes the folder from the key
-- and keeps the file's own name.
local function assets()
  local lines = {}
  for _, extension in ipairs { "css", "html", "js" } do
    for _, path in ipairs(listed("lua", extension)) do
      local key <const> = path:match("^lua/(.*)$"):gsub("%.", "_"):gsub("/", ".")
      lines[#lines + 1] = ("      [%q] = %q,\n"):format(key, path)
    end
  end
  return table.concat(lines)
end

local function read(path)
  local file <close> = io.open(path)
  return file and file:read("a")
end

local old <const> = read(PATH)

-- Replaces the lines between one that ends with `first` and one that begins
-- with `last`.
local function between(text, first, last, lines)
  local before, after = text:match("^(.-" .. first .. "\n).-(%f[^\n]%s*" .. last .. ".*)$")
  return before .. lines .. after
end

local new = between(old, "sources = {", "},", sources())
new = between(new, 'libraries = { "z", "m" },\n    },', "},", modules())
new = between(new, "    lua = {", "},", assets())

local ROCK <const> = [[
rockspec_format = "3.0"
package = "sonde-%s"
version = "scm-1"

source = { url = "git+file://." }

description = { summary = "sonde: %s", license = "MIT" }

dependencies = { "lua >= 5.4, < 5.5", "sonde" }

external_dependencies = { ZLIB = { header = "zlib.h", library = "z" }, %s = { library = "%s" } }

build = {
  type = "builtin",
  modules = {
    ["sonde.c.%s"] = {
      sources = {
%s      },
      incdirs = { "src", "$(ZLIB_INCDIR)", "$(%s_INCDIR)" },
      libdirs = { "$(ZLIB_LIBDIR)", "$(%s_LIBDIR)" },
      libraries = { "%s" },
    },
  },
}
]]

local function rock(module)
  local paths = listed("src/base", "c")
  for _, folder in ipairs(module.shared or {}) do
    local more <const> = listed(folder, "c")
    table.move(more, 1, #more, #paths + 1, paths)
  end
  paths[#paths + 1] = "src/lua/l_aux.c"
  for _, folder in ipairs(module.folders) do
    for _, path in ipairs(listed(folder, "c")) do paths[#paths + 1] = path end
  end
  return ROCK:format(module.name, module.summary, module.external, module.library, module.name,
    quoted(paths), module.external, module.external, table.concat(module.libraries, '", "'))
end

local function is_begun(module)
  return #listed("src/lua/" .. module.name, "c") > 0
end

local changed <const> = {}
if new ~= old then changed[PATH] = new end
for _, module in ipairs(OPTIONAL) do
  local path <const> = ("rockspec/optional/sonde-%s-scm-1.rockspec"):format(module.name)
  local text <const> = is_begun(module) and rock(module) or nil
  if text and text ~= read(path) then changed[path] = text end
end

if arg[1] == "--check" then
  for path in pairs(changed) do
    io.stderr:write(path, " does not list what is there: lua5.4 rockspec/update.lua\n")
  end
  os.exit(next(changed) == nil)
end
os.execute "mkdir -p rockspec/optional"
for path, text in pairs(changed) do
  local out <close> = assert(io.open(path, "w"))
  out:write(text)
end
