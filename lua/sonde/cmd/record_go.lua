--- `sonde record` of a running Go program: one profile, as it comes.
-- @module sonde.cmd.record_go
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local files <const> = require "sonde.base.files"
local options <const> = require "sonde.base.options"
local take <const> = require "sonde.cmd.take"
local url <const> = require "sonde.base.url"

local declared <const> = {
  { name = "view", type = "string", argname = "VIEW", default = "cpu",
    help = "what is measured: cpu heap allocs mutex block goroutine threadcreate, or a profile of"
      .. " the program's own; trace is the execution trace, for go tool trace" },
  { name = "source", type = "string", choices = { "pprof", "gops" },
    help = "where a process is asked (default: the first that answers)" },
  { name = "gops", type = "string", argname = "HOST:PORT",
    help = "the address of its gops agent, when the port file does not say it" },
  { name = "output", short = "o", type = "path", argname = "FILE",
    help = "write to this file; its name chooses the format (default NAME_VIEW_TIME.pb.gz)" },
  common.format,
}

local function name_of(input)
  if url.is(input) then
    local place <const> = url.parse(input)
    return place and (place.unix_socket or place.host):gsub("^.*/", "") or "server"
  end
  return require("sonde.process.proc").stat(math.tointeger(tonumber(input))).name
end

local function default_output(args)
  local name <const> = ("%s_%s"):format(name_of(args.input), args.view):gsub("[^%w._-]", "_")
  return name .. os.date "_%Y%m%d_%H%M%S" .. (args.view == "trace" and ".trace" or ".pb.gz")
end

-- The report that the output's name or --format choose; nil for the bytes as they
-- come, which is what pprof is.
local function converter(args)
  local reports <const> = require "sonde.report"
  if args.format then
    local module, message = reports.get(args.format)
    if module == nil then errors.usage("--format: " .. message, "sonde report --help") end
    return (module.name ~= "pprof" or args.redact) and module or nil
  end
  local module <const> = reports.for_path(args.output)
  if args.redact then return module or reports.get "pprof" end
  return module and module.name ~= "pprof" and module or nil
end

local function write_bytes(taken, args, env)
  local written, message, code = files.write(args.output, function(out)
    out:write(taken.bytes)
    return true
  end)
  if not written then errors.raise { message = "cannot write: " .. message, code = code } end
  env:say(("wrote %s (%s, %d bytes)"):format(args.output, taken.name, #taken.bytes))
end

-- What came, looked into: a profile without samples is one, and worth a word.
local function checked(taken, args, env)
  if args.view == "trace" then return nil end
  local object, message, code, hint = common.opened(require("sonde").open(taken,
    { limit = args.limit }))
  if message then env:warn(message, code, hint) end
  if #object == 0 then
    env:say(args.view == "cpu" and "the profile has no samples: the program was idle"
      or ("the profile has no samples: is it switched on? (%s)"):format(args.view))
  end
  return object
end

return common.verb {
  name = "record",
  summary = "a profile of a running Go program, by its net/http/pprof or gops agent",
  arguments = { { name = "input", help = "the program's pid, name, or URL" } },
  options = function()
    return options.join(require "sonde.golang.take", declared,
      options.select(common.input_options, { "limit" }), require "sonde.base.connection",
      common.redact_options())
  end,
  examples = {
    "sonde record -p 4242 --view cpu --duration 10s -o cpu.pb.gz",
    "sonde record http://localhost:6060 --view heap --gc",
    "sonde record http://localhost:6060 --view allocs --delta 30s -o new.svg",
    "sonde record -p 4242 --source gops",
  },
  run = function(args, env)
    args.output = args.output or default_output(args)
    local module <const> = converter(args)
    common.redactor(args)
    if module and args.view == "trace" then
      errors.usage(args.redact and "--redact: an execution trace cannot be"
        or ("an execution trace cannot be written as %s"):format(module.name))
    end
    common.check(files.writable(args.output))
    local taken <const> = take.input(args.input, args, env)
    local profile <const> = checked(taken, args, env)
    if module == nil then return write_bytes(taken, args, env) end
    common.write_report(module, common.redacted(profile, args), {
      output = args.output, redact = args.redact, redactor = args.redactor,
    }, env)
    return errors.exit.done
  end,
}
