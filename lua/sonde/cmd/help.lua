--- `sonde`, `sonde help [VERB]`: worked examples, and the help of a verb.
-- @module sonde.cmd.help
local errors <const> = require "sonde.base.errors"

local help = {
  name = "help",
  summary = "this page, or the help of a verb",
}

local EXAMPLES <const> = [[
sonde: what is this process doing?

   sonde api.nettrace                            where did the time go?
   sonde top api.nettrace --view alloc           what allocates?
   sonde report tree api.nettrace --focus Json   who calls it?
   sonde convert api.nettrace -o flame.svg       a flame graph for the browser
   sonde convert api.nettrace -o api.pb.gz       for go tool pprof
   sonde diff before.nettrace after.nettrace     what got slower?
   sonde inspect api.nettrace                    can this file be trusted?
   sonde events api.nettrace --name Exception    what happened, one by one?
   sonde ps                                      what can be looked into here?
   sonde dump http://localhost:6060              what is every goroutine waiting for?

Inputs: .nettrace and .netperf (also inside gzip, xz, zip), pprof, folded
stacks, dumps; - reads standard input; a URL, or the pid of a Go program.

Verbs:
]]

local function overview(env)
  local cli <const> = require "sonde.cli"
  env.out:write(EXAMPLES)
  for _, name in ipairs(cli.verbs) do
    env.out:write(("   %-10s %s\n"):format(name, cli.verb(name).summary))
  end
  env.out:write("\nsonde help VERB tells a verb's options.\n")
end

--- The declaration of the verb, for completions.
-- @treturn {table,...}
function help.forms()
  return { { arguments = { { name = "verb", optional = true, help = "its options are told" } } } }
end

--- Prints the page that was asked for.
-- @tparam {string,...} words a verb and, for `report`, a report
-- @tparam table env
-- @treturn ?integer exit status
function help.start(words, env)
  local name <const> = words[1]
  if name == nil or name == "-h" or name == "--help" then
    overview(env)
    return
  end
  local cli <const> = require "sonde.cli"
  local verb <const> = name == "open" and require "sonde.cmd.summary" or cli.verb(name)
  if verb == nil then
    local near <const> = require("sonde.base.options").suggest(name, cli.verbs)
    errors.usage(("no verb '%s'%s"):format(name, near and (" (did you mean '%s'?)"):format(near)
      or ""), "sonde help")
  end
  local rest <const> = table.move(words, 2, #words, 1, {})
  rest[#rest + 1] = "--help"
  if verb == help then return overview(env) end
  return verb.start(rest, env)
end

return help
