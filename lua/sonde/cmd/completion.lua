--- `sonde completion bash|zsh|fish|man`: what shells need to complete command
-- lines, and the manual page, from the declarations of the verbs.
-- @module sonde.cmd.completion
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"

local KINDS <const> = { "bash", "zsh", "fish", "man" }

return common.verb {
  name = "completion",
  summary = "completion of command lines for bash, zsh or fish; the manual page",
  arguments = {
    { name = "shell", choices = KINDS, help = "bash, zsh or fish; man is the manual page" },
  },
  options = {},
  examples = {
    'eval "$(sonde completion bash)"',
    "sonde completion zsh >~/.zfunc/_sonde",
    "sonde completion fish >~/.config/fish/completions/sonde.fish",
    "sonde completion man | man -l -",
  },
  run = function(args, env)
    for _, kind in ipairs(KINDS) do
      if kind == args.shell then
        env.out:write(require("sonde.completion." .. kind).text())
        return errors.exit.done
      end
    end
    local near <const> = options.suggest(args.shell, KINDS)
    errors.usage(("'%s' is neither bash, zsh, fish nor man"):format(args.shell),
      "sonde completion " .. (near or "bash"))
  end,
}
