--- What sonde needs of a machine, and of a process: is it there, and if not,
-- what helps?
--
--    for _, row in ipairs(sonde.doctor()) do print(row.status, row.name, row.detail) end
--
-- @module sonde.doctor
local errors <const> = require "sonde.base.errors"
local rows_of <const> = require("sonde.base.rows").of

local doctor = {}

--- How a check may come out, the best first.
doctor.STATUSES = { "OK", "WARN", "FAIL" }

-- A check that fails of itself must not hide the others.
local function run(check, ...)
  local done, status, detail, fix = errors.pcall(check.run, ...)
  if not done then
    return { name = check.name, status = "WARN", detail = "could not be looked at: "
      .. tostring(status) }
  end
  if status == nil then return nil end
  return { name = check.name, status = status, detail = detail, fix = fix }
end

local function run_all(list, about, rows, ...)
  for _, check in ipairs(list) do
    local row <const> = run(check, ...)
    if row then
      row.about = about
      rows[#rows + 1] = row
    end
  end
end

--- Looks at the machine, or at one process.
-- @tparam ?integer pid
-- @treturn Rows each `about` (`machine process`), `name`, `status` (`OK
--   WARN FAIL`: WARN is what only some verbs miss), `detail`, `fix` (nil when
--   there is nothing to do)
function doctor.check(pid)
  local rows = {}
  if pid == nil then
    run_all(require "sonde.doctor.machine", "machine", rows)
  else
    run_all(require "sonde.doctor.process", "process", rows, { pid = pid })
  end
  return rows_of(rows)
end

--- The worst status of some rows.
-- @tparam {table,...} rows
-- @treturn string
function doctor.worst(rows)
  local worst = "OK"
  for _, row in ipairs(rows) do
    if row.status == "FAIL" or worst == "OK" then worst = row.status end
  end
  return worst
end

return doctor
