--- The manual page sonde(1).
-- @module sonde.completion.man
local words <const> = require "sonde.completion.words"

local man = {}

-- A text for troff: a backslash and a hyphen are themselves, a dot or a quote at
-- the beginning of a line is no request.
local function plain(text)
  return (text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("^([.'])", "\\&%1")
    :gsub("\n([.'])", "\n\\&%1"))
end

local function argument_of(argument)
  local word = "\\fI" .. plain(argument.name:upper()) .. "\\fR"
  if argument.many then word = word .. "..." end
  return argument.optional and ("[%s]"):format(word) or word
end

local function synopsis(verb)
  local parts = { "\\fBsonde " .. plain(verb.name) .. "\\fR" }
  for _, argument in ipairs(verb.arguments) do parts[#parts + 1] = argument_of(argument) end
  if #verb.options > 0 then parts[#parts + 1] = "[options]" end
  return table.concat(parts, " ")
end

local function help_of(option)
  local help = option.help
  if option.choices then help = help .. ": " .. table.concat(option.choices, ", ") end
  if option.default then help = ("%s (default %s)"):format(help, option.default) end
  return plain(help)
end

local function put_option(lines, option)
  local flags = {}
  for i, flag in ipairs(option.flags) do flags[i] = "\\fB" .. plain(flag) .. "\\fR" end
  local value <const> = option.kind and (" \\fI%s\\fR"):format(plain(option.argname)) or ""
  lines[#lines + 1] = ".TP\n" .. table.concat(flags, ", ") .. value
  lines[#lines + 1] = help_of(option)
end

local function put_verb(lines, verb)
  lines[#lines + 1] = ".SS " .. plain(verb.name)
  lines[#lines + 1] = synopsis(verb) .. "\n.PP"
  lines[#lines + 1] = plain(verb.summary:gsub("^%l", string.upper)) .. "."
  for _, argument in ipairs(verb.arguments) do
    lines[#lines + 1] = ".TP\n" .. argument_of(argument)
    lines[#lines + 1] = plain(argument.help or argument.name)
  end
  for _, option in ipairs(verb.options) do put_option(lines, option) end
  if #verb.examples == 0 then return end
  lines[#lines + 1] = ".PP\nExamples:\n.PP\n.nf\n.RS"
  for _, example in ipairs(verb.examples) do lines[#lines + 1] = plain(example) end
  lines[#lines + 1] = ".RE\n.fi"
end

local HEAD <const> = [=[
.TH SONDE 1 "" "sonde %s" "User Commands"
.SH NAME
sonde \- what is this process doing?
.SH SYNOPSIS
\fBsonde\fR \fIINPUT\fR
.br
\fBsonde\fR \fIVERB\fR [\fIINPUT\fR] [options]
.SH DESCRIPTION
sonde reads traces and profiles of .NET, Go and native processes, takes them of
running ones, and reports where the time and the memory went. The content of
\fIINPUT\fR says what it is: a .nettrace or .netperf file, a pprof profile, folded
stacks, a dump, a store of captures, each also inside gzip, xz or zip; \- is
standard input; a URL, a pid or a name is a running process.
.SH VERBS
]=]

local TAIL <const> = [=[
.SH EXIT STATUS
.TP
0
done
.TP
1
nothing to show, or a rule was not met
.TP
2
the command line is wrong
.TP
3
the process or a permission is missing
.TP
4
the data is damaged or incomplete; what could be read was written
.TP
5
given up on a second Ctrl\-C
.TP
70
an error of sonde itself
.SH FILES
.TP
\fI$XDG_CONFIG_HOME/sonde/shell.lua\fR
Lua that the shell runs first
.TP
\fI$XDG_STATE_HOME/sonde/history\fR
lines that were typed in the shell
.SH ENVIRONMENT
.TP
\fBNO_COLOR\fR
when it is set, nothing is coloured
]=]

--- The page, for man.
-- @treturn string
function man.text()
  local lines = {}
  for _, verb in ipairs(words.verbs()) do put_verb(lines, verb) end
  return HEAD:format(plain(require("sonde").VERSION)) .. table.concat(lines, "\n") .. "\n" .. TAIL
end

return man
