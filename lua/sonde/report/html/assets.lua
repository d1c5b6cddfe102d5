--- The page's own files: its template, styles and scripts, which lie beside
-- this module as a web developer would write them and are put together when a
-- page is written.
-- @module sonde.report.html.assets
local assets = {}

local folder <const> = assert(package.searchpath("sonde.report.html.assets", package.path))
  :match("^(.*)assets%.lua$")

local function read(name)
  local file <close> = assert(io.open(folder .. name, "rb"))
  return assert(file:read("a"))
end

-- "import { a, b } from "./c.js";", at a line's start, over several lines.
local IMPORT <const> = '\nimport%s*{[^}]*}%s*from%s*"%./([%w_]+%.js)";[^\n]*'

--- A script with all that it imports, as one: the modules in an order in
-- which each comes after those that it needs, without `import` and `export`.
-- Their names share one scope; a spec sees to it that none is there twice.
-- @tparam string name of the script to begin with
-- @treturn string
function assets.script(name)
  local done, parts = {}, {}
  local function add(module)
    if done[module] then return end
    done[module] = true
    local source <const> = "\n" .. read(module)
    for needed in source:gmatch(IMPORT) do add(needed) end
    local bare = source:gsub(IMPORT, ""):gsub("\nexport ", "\n")
    parts[#parts + 1] = ("// %s\n%s"):format(module, bare:gsub("^\n", ""))
  end
  add(name)
  return table.concat(parts, "\n")
end

--- The styles.
-- @treturn string
function assets.style()
  return read "page.css" .. "\n" .. read "app.css"
end

--- Writes the template with values in the place of its "{{name}}" marks.
-- @tparam table values name to string, or to a list of strings that are
--   written one after the other
-- @tparam table out a sink
function assets.fill(values, out)
  local template <const> = read "page.html"
  local at = 1
  while true do
    local first, last, name = template:find("{{(%w+)}}", at)
    if first == nil then break end
    out:put(template:sub(at, first - 1))
    out:put(values[name])
    at = last + 1
  end
  out:put(template:sub(at))
end

return assets
