-- Brings the lists of the rockspec up to date with the tree: luarocks wants
-- every file named, and gives a rockspec no way to look.
-- Usage: lua5.4 rockspec/update.lua [--check]
local PATH <const> = "rockspec/sonde-scm-1.rockspec"

-- The files of a folder that belong to the project: in a checkout those that
-- git knows, so that work in progress does not count.
local function listed(folder, extension)
  local git <const> = ("git ls-files '%s/*.%s' 2>/dev/null | grep ."):format(folder, extension)
  local find <const> = ("find %s -name '*.%s'"):format(folder, extension)
  local pipe <const> = io.popen(("%s || %s"):format(git, find), "r")
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  pipe:close()
  table.sort(lines)
  return lines
end

local function sources()
  local lines = {}
  for i, path in ipairs(listed("src", "c")) do
    lines[i] = ("        %q,\n"):format(path)
  end
  return table.concat(lines)
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

local file <const> = assert(io.open(PATH))
local old <const> = file:read("a")
file:close()

-- Replaces the lines between one that ends with `first` and one that begins
-- with `last`.
local function between(text, first, last, lines)
  local before, after = text:match("^(.-" .. first .. "\n).-(%f[^\n]%s*" .. last .. ".*)$")
  return before .. lines .. after
end

local new = between(old, "sources = {", "},", sources())
new = between(new, 'libraries = { "z", "m" },\n    },', "},", modules())
new = between(new, "    lua = {", "},", assets())

if arg[1] == "--check" then
  if new == old then return end
  io.stderr:write(PATH, " does not list what is there: lua5.4 rockspec/update.lua\n")
  os.exit(1)
end
local out <const> = assert(io.open(PATH, "w"))
out:write(new)
out:close()
