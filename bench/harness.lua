--- What the benches share: running commands for their time and memory, and a
-- report that is printed and kept. `dofile "bench/harness.lua"` from the checkout.
local harness = {}

--- Where benches leave what they make.
harness.directory = "build/bench"

--- A word for the shell.
-- @tparam string text
-- @treturn string
function harness.quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- Runs a line of shell.
-- @tparam string format
-- @treturn boolean whether its status was 0
function harness.shell(format, ...)
  return os.execute(format:format(...)) == true
end

--- Is a file there?
-- @tparam string path
-- @treturn boolean
function harness.exists(path)
  local file <close> = io.open(path, "rb")
  return file ~= nil
end

--- Runs a command once.
-- @tparam string command
-- @tparam ?boolean any_status it may end with another status than 0
-- @treturn ?table `wall cpu` (seconds) and `kib` (peak); nil when it failed
function harness.measure(command, any_status)
  local report <const> = harness.directory .. "/time"
  harness.shell("/usr/bin/time -o %s -f '%%e %%U %%S %%M' sh -c %s >/dev/null 2>%s/stderr"
    .. " </dev/null", report, harness.quote(command), harness.directory)
  local file <close> = assert(io.open(report))
  local text <const> = file:read "a"
  local wall, user, system, kib = text:match "([%d.]+) ([%d.]+) ([%d.]+) (%d+)\n$"
  local failed <const> = text:find("exited with non-zero", 1, true) and not any_status
  if wall == nil or failed then return nil end
  return { wall = tonumber(wall), cpu = tonumber(user) + tonumber(system), kib = tonumber(kib) }
end

--- The value below which a share of a list lies.
-- @tparam {number,...} list stays as it is
-- @tparam number share 0.5 is the median
-- @treturn number no number when the list is empty
function harness.quantile(list, share)
  local sorted <const> = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  return sorted[math.max(1, math.min(#sorted, math.floor(share * #sorted + 0.5)))] or 0 / 0
end

--- The median.
-- @tparam {number,...} list
-- @treturn number
function harness.median(list)
  return harness.quantile(list, 0.5)
end

--- One field of all rows.
-- @tparam {table,...} rows
-- @tparam string field
-- @treturn {number,...}
function harness.column(rows, field)
  local list = {}
  for i, row in ipairs(rows) do list[i] = row[field] end
  return list
end

local lines <const> = {}

--- Prints a line of the report.
-- @tparam string format
function harness.say(format, ...)
  lines[#lines + 1] = format:format(...)
  print(lines[#lines])
end

--- Keeps the report.
-- @tparam string name of the file, in the benches' directory
function harness.keep(name)
  local path <const> = ("%s/%s"):format(harness.directory, name)
  local file <close> = assert(io.open(path, "wb"))
  file:write(table.concat(lines, "\n"), "\n")
  print("\nwritten to " .. path)
end

return harness
