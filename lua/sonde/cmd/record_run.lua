--- What all ways of `sonde record` share: what is wanted, a recording that is
-- ready to run, and what is done with it when it is over.
-- @module sonde.cmd.record_run
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local files <const> = require "sonde.base.files"

local run = {}

-- What `--max-size` is when nobody says.
local MAX_SIZE <const> = 1 << 30

-- A rundown may come on top of what `--max-size` allows.
local ROOM_FOR_RUNDOWN <const> = 1 << 30

--- The recordings and providers that the command line names, as one.
-- @tparam table args
-- @treturn table `names providers view rundown`
function run.wanted(args)
  local recordings <const> = require "sonde.dotnet.recordings"
  local providers <const> = require "sonde.dotnet.providers"
  local names = args.profile or {}
  if #names == 0 and #(args.provider or {}) == 0 then names = { "cpu" } end
  local lists, rundown, view = {}, #names == 0, nil
  local asked = {}
  for i, name in ipairs(names) do
    local found, message, code = recordings.get(name)
    if found == nil then
      if code == "not_found" then errors.usage("--profile: " .. message, "sonde help record") end
      errors.raise { message = message, code = code }
    end
    lists[i] = found.providers
    rundown, view = rundown or found.rundown, view or found.view
  end
  if #(args.provider or {}) > 0 then
    local own, why = providers.complete(args.provider)
    if own == nil then errors.usage("--provider: " .. why, "sonde help record") end
    lists[#lists + 1], asked = own, own
  end
  return { names = names, asked = asked, providers = providers.join(table.unpack(lists)),
    view = args.view or view,
    rundown = (rundown or args.rundown or false) and not args.no_rundown }
end

--- The name of a file for a process.
-- @tparam ?string name the process's
-- @treturn string
function run.default_output(name)
  return os.date((name or "process"):gsub("[^%w._-]", "_") .. "_%Y%m%d_%H%M%S.nettrace")
end

-- Only a NetTrace file takes the stream itself; for other formats the trace
-- that was decoded meanwhile is written when the recording is over.
local function is_raw(path)
  return path:find("%.nettrace$") ~= nil or require("sonde.report").for_path(path) == nil
end

--- Refuses to redact a recording, which holds what the process sent, names and
-- all.
-- @tparam table args
function run.refuse_raw(args)
  common.redactor(args)
  if not args.redact or args.output and not is_raw(args.output) then return end
  errors.usage("--redact: a recording (.nettrace) keeps what the process sent; redact what is made"
    .. " of it", "-o recorded.html")
end

-- The reports that `-f` names, each with the file it goes to.
local function further_formats(args)
  local list = {}
  for i, name in ipairs(args.format or {}) do
    local module, message = require("sonde.report").get(name)
    if module == nil then errors.usage("--format: " .. message) end
    if #module.extensions == 0 then
      errors.usage(("--format: %s is no format of a file"):format(name), "sonde report " .. name)
    end
    list[i] = { module = module,
      path = args.output:gsub("%.nettrace$", "") .. "." .. module.extensions[1] }
    common.check(files.writable(list[i].path))
  end
  return list
end

-- What ends the recording by an event: options of the session.
local function stop_at_event(args, stop)
  if args.until_lua then
    local is_true, why = require("sonde.dotnet.expression").compile(args.until_lua)
    if is_true == nil then errors.usage("--until-lua: " .. why) end
    return nil, function(event)
      if is_true(event) then stop() end
    end
  end
  if args["until"] == nil then return end
  local matches <const> = require("sonde.base.pattern").matcher(args["until"], "until")
  local function want(provider, name, id)
    return matches(provider .. "/" .. (name ~= "" and name or tostring(id)))
  end
  return want, stop
end

-- The trace in another format.
local function write_converted(trace, want, path, args, env)
  local reports <const> = require "sonde.report"
  local module <const> = reports.for_path(path)
  local object = trace
  if reports.needs(module, {}) == "profile" then
    object = common.check(trace:profile { view = want.view, names = args.names })
  end
  -- One redactor for all that is written of a recording.
  local redactor <const> = common.redactor(args)
  common.write_report(module, common.redacted(object, args), {
    output = path, redact = args.redact, redactor = redactor,
  }, env)
end

local function write_results(recording, want, args, env)
  local talk <const> = require "sonde.cmd.record_talk"
  local trace <const> = recording.session:trace()
  if trace == nil then return end
  talk.health(recording.session, trace, want, env)
  if not recording.raw then write_converted(trace, want, args.output, args, env) end
  for _, further in ipairs(recording.formats) do
    write_converted(trace, want, further.path, args, env)
  end
end

--- Says how a recording went and writes what it came to; raises what failed.
-- @tparam Recording recording
-- @tparam table want
-- @tparam table args
-- @tparam table env
-- @tparam table outcome of `run.to_end`
-- @treturn integer exit status
function run.finish(recording, want, args, env, outcome)
  if recording.session == nil then
    if recording.wanted:is_set() then
      errors.raise { message = "not recorded: stopped before it began", code = "canceled",
        status = errors.exit.given_up }
    end
    errors.raise { message = outcome.message, code = outcome.code, hint = outcome.hint }
  end
  require("sonde.cmd.record_talk").stopped(recording, outcome.reason, args, env)
  if recording.tape then require("sonde.cmd.record_tape").finish(recording, args, env) end
  write_results(recording, want, args, env)
  if recording.given_up then
    errors.raise { message = "given up before the stream had ended; what had come is kept",
      status = errors.exit.given_up }
  end
  if outcome.message then
    errors.raise { message = outcome.message, code = outcome.code, hint = outcome.hint }
  end
  return errors.exit.done
end

-- What is needed when a recording is over.
local AT_THE_END <const> = { "sonde.profile", "sonde.dotnet.trace", "sonde.dotnet.advice" }

-- Loads it while the process records: who stops a recording waits for its end.
local function load_ahead(recording)
  if recording.loaded_ahead or recording.session.bytes == 0 then return end
  recording.loaded_ahead = true
  for _, name in ipairs(AT_THE_END) do require(name) end
end

--- A recording that is ready to run.
-- @tparam Target target
-- @tparam table want of `run.wanted`
-- @tparam table args
-- @tparam table env
-- @treturn Recording
function run.prepare(target, want, args, env)
  local providers <const> = require "sonde.dotnet.providers"
  local talk <const> = require "sonde.cmd.record_talk"
  local show <const> = require("sonde.base.term").status(env.err, env.terminal.err)
  local tape <const> = require("sonde.cmd.record_tape").output(args)
  local raw <const> = is_raw(args.output)
  if not raw then common.check(files.writable(args.output)) end
  local formats <const> = further_formats(args)
  local max_size <const> = args.max_size or tape == nil and MAX_SIZE or nil
  local recording
  local wants, on_event = stop_at_event(args, function() recording:stop "event" end)
  recording = require("sonde.dotnet.recording").new(target, {
    duration = args.duration, max_size = max_size,
    max_cost = args.max_cost and args.max_cost / 100,
    session = {
      providers = want.providers, rundown = want.rundown, buffer_mb = args.buffer >> 20,
      output = tape or raw and args.output or nil,
      want = wants, on_event = on_event,
      cpu_time = providers.have_sampler(want.providers), timeline = want.view == "oncpu",
      max_bytes = max_size and max_size + ROOM_FOR_RUNDOWN or math.maxinteger,
      groups = tape and {} or nil,
    },
  }, {
    started = function() talk.start(recording, want, args, env) end,
    looked = function()
      show(talk.status(recording))
      load_ahead(recording)
    end,
  })
  recording.max_size, recording.tape, recording.output = max_size, tape, args.output
  recording.raw, recording.formats = raw, formats
  recording.show = show
  return recording
end

--- Runs a recording to its end.
-- @tparam Recording recording
-- @treturn table `reason message code hint`
function run.to_end(recording)
  local reason, message, code, hint = recording:run()
  recording.show(nil)
  return { reason = reason, message = message, code = code, hint = hint }
end

return run
