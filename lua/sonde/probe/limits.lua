--- What this system does not let us do, and what helps.
-- @module sonde.probe.limits
local core <const> = require "sonde.c.core"
local proc <const> = require "sonde.process.proc"
local uv <const> = require "sonde.base.uv"

local limits = {}

--- Where the system tells what it allows.
limits.paths = {
  lockdown = "/sys/kernel/security/lockdown",
  paranoid = "/proc/sys/kernel/perf_event_paranoid",
  restricted = "/proc/sys/kernel/kptr_restrict",
  tracing = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" },
}

local function number_in(path)
  local text <const> = core.read_file(path)
  return text and math.tointeger(tonumber(text))
end

--- How far the kernel is locked down.
-- @treturn ?string "integrity" or "confidentiality"; nil when it is not
function limits.lockdown()
  local mode <const> = (core.read_file(limits.paths.lockdown) or ""):match "%[(%w+)%]"
  return mode ~= "none" and mode or nil
end

--- What perf events are kept from who has no privileges.
-- @treturn ?integer kernel.perf_event_paranoid; nil without perf events
function limits.paranoid()
  return number_in(limits.paths.paranoid)
end

--- From whom the kernel's addresses are kept.
-- @treturn ?integer kernel.kptr_restrict
function limits.restricted()
  return number_in(limits.paths.restricted)
end

--- Are we root, who is refused only what a container or the kernel forbids?
-- @treturn boolean
function limits.is_root()
  return proc.self().uid == 0
end

-- What helps who is not allowed to.
local function help(capabilities)
  if limits.lockdown() then
    return "boot without Secure Boot, or with lockdown=none: root cannot end it"
  elseif limits.is_root() then
    return ("outside of the container, or with its capabilities %s"):format(capabilities)
  end
  return ("as root, or with the capabilities %s"):format(capabilities)
end

--- The kernel refused what needs privileges.
-- @tparam string what we may not do
-- @tparam string message the kernel's
-- @tparam string capabilities that allow it
-- @treturn nil
-- @treturn string message
-- @treturn string code `permission`
-- @treturn string hint
function limits.refused(what, message, capabilities)
  local mode <const> = limits.lockdown()
  return nil, ("%s%s: %s"):format(what, mode and (" (it is locked down: %s)"):format(mode) or "",
    message), "permission", help(capabilities)
end

--- Whose a process is, when it is not ours to look at.
-- @tparam integer pid
-- @treturn ?string "of user NAME (uid N)"; nil when it is ours, or we are root
-- @treturn ?string hint
function limits.stranger(pid)
  local status <const>, own = proc.status(pid), proc.self().uid
  if status == nil or own == 0 or status.uid == own then return nil end
  local user <const> = proc.user(status.uid)
  return ("of user %s (uid %d)"):format(user, status.uid),
    user == "root" and "sudo sonde …" or ("sudo -u %s sonde …, or as root"):format(user)
end

--- Where tracefs is.
-- @treturn ?string the folder; nil when we cannot use any
-- @treturn ?string message
-- @treturn ?string code `permission unavailable`
-- @treturn ?string hint
function limits.tracing()
  local denied
  for _, path in ipairs(limits.paths.tracing) do
    local text, _, code = core.read_file(path .. "/events/header_page", 4096)
    if text then return path end
    local _, _, name = uv.fs_stat(path .. "/events")
    if code == "permission" or name == "EACCES" or name == "EPERM" then denied = denied or path end
  end
  if denied then
    return limits.refused("tracepoints are not ours to see", denied .. ": permission denied",
      "CAP_DAC_READ_SEARCH, CAP_BPF and CAP_PERFMON")
  end
  return nil, "tracepoints need tracefs, which is not mounted", "unavailable",
    "mount -t tracefs tracefs /sys/kernel/tracing"
end

return limits
