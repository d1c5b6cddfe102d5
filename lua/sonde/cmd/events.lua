--- `sonde events INPUT`: what happened, one by one.
-- @module sonde.cmd.events
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local live <const> = require "sonde.cmd.live"
local options <const> = require "sonde.base.options"

-- The same lines with pseudonyms.
local function redacted(lines, redactor)
  return (lines:gsub("[^\n]+", function(line) return redactor:event_line(line) end))
end

local function finish(found, path, env)
  local message, code = found:problem()
  if message then env:warn(message, code) end
  local counts <const> = found:counts()
  if counts.matched > 0 then return errors.exit.done end
  errors.raise { code = "no_events",
    message = ("%s: none of its %d events matches"):format(path, counts.events),
    hint = "sonde report providers " .. path }
end

return live.either(common.verb {
  name = "events",
  summary = "the events of a trace, each with its payload",
  arguments = { common.input_argument },
  options = function()
    return options.join(require("sonde.dotnet.events").options, { common.json },
      common.redact_options())
  end,
  examples = {
    "sonde events api.nettrace --name Exception",
    "sonde events api.nettrace --provider 'DotNETRuntime$' --from 2s --to 2500ms",
    "sonde events api.nettrace --json | head -n 1",
    "sonde events -p Api --provider System.Net.Http   # a running process, as they come",
  },
  run = function(args, env)
    local module <const> = require "sonde.dotnet.events"
    local opts <const> = common.options_of(module, args)
    local found <const> = common.opened(module.open_json(args.input, opts))
    local redactor <const> = common.redactor(args)
    common.checked(args, env, function(inner)
      found:pass(function(lines)
        if redactor then lines = redacted(lines, redactor) end
        inner.out:write(args.json and lines or common.check(found:text(lines)))
      end)
    end)
    return finish(found, args.input, env)
  end,
}, "sonde.cmd.events_live")
