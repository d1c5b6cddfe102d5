--- `{ write = { path = "…", text = "…" } }`: writes a file.
-- @module sonde.policy.actions.write
local files <const> = require "sonde.base.files"
local units <const> = require "sonde.base.units"

local write = {}

--- Fields.
write.fields = {
  { name = "path", type = "path", required = true,
    help = "its name, in the folder of the policy's artifacts unless it begins with /" },
  { name = "text", type = "string", required = true, help = "what it holds" },
}

--- Says what it does.
-- @tparam table spec
-- @treturn string
function write.explain(spec)
  local what <const> = spec.text:find("%{", 1, true) and "a text" or units.bytes(#spec.text)
  return ("write %s to %s"):format(what, spec.path)
end

--- What it costs.
-- @tparam table spec
-- @treturn table `bytes`
function write.cost(spec)
  return { bytes = #spec.text }
end

--- Does it.
-- @tparam table spec
-- @tparam table context
-- @treturn ?table `path bytes`
-- @treturn ?string message
-- @treturn ?string code
function write.run(spec, context)
  local path <const> = context.place(spec.path)
  local done, message, code = files.write(path, function(out)
    out:write(spec.text)
    return true
  end)
  if not done then return nil, message, code end
  return { path = path, bytes = #spec.text }
end

return write
