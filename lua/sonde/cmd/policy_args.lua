--- What the verbs that load policies share.
-- @module sonde.cmd.policy_args
local errors <const> = require "sonde.base.errors"

local policy_args = {}

--- Their options.
policy_args.options = {
  { name = "set", type = "string", many = true, argname = "NAME=VALUE",
    help = "set an argument of the policy; may be repeated" },
  { name = "trust", type = "boolean",
    help = "let the policies' code use os, io and require" },
}

--- The arguments that `--set` gives.
-- @tparam table args
-- @treturn table name to text
function policy_args.of(args)
  local given = {}
  for _, word in ipairs(args.set or {}) do
    local name, value = word:match "^([%w_]+)=(.*)$"
    if name == nil then errors.usage(("--set: '%s' is not NAME=VALUE"):format(word)) end
    given[name] = value
  end
  return given
end

return policy_args
