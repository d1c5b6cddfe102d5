--- `{ move = { file = "%{record.path}", to = "/srv/outbox" } }`: hands an artifact over
-- by renaming it into a folder: who looks there sees it whole or not at all.
-- @module sonde.policy.actions.move
local uv <const> = require "sonde.base.uv"

local move = {}

--- Fields.
move.fields = {
  { name = "file", type = "string", required = true, help = "what: %{record.path}" },
  { name = "to", type = "path", required = true, help = "a folder, which must be there" },
}

--- Says what it does.
-- @tparam table spec
-- @treturn string
function move.explain(spec)
  return ("move %s into the folder %s"):format(spec.file, spec.to)
end

-- Another file system: copied under a name that nobody looks for, then renamed.
local function move_over(from, to)
  local partial <const> = to .. ".partial"
  local copied <const>, message <const> = uv.fs_copyfile(from, partial)
  if not copied then
    uv.fs_unlink(partial)
    return nil, message
  end
  local renamed <const>, why <const> = uv.fs_rename(partial, to)
  if not renamed then
    uv.fs_unlink(partial)
    return nil, why
  end
  uv.fs_unlink(from)
  return true
end

--- Does it.
-- @tparam table spec
-- @treturn ?table `path`
-- @treturn ?string message
-- @treturn ?string code
function move.run(spec)
  local name <const> = spec.file:match "([^/]+)$"
  local stat <const>, missing <const> = uv.fs_stat(spec.file)
  if stat == nil then return nil, missing, "not_found" end
  local folder <const> = uv.fs_stat(spec.to)
  if folder == nil or folder.type ~= "directory" then
    return nil, spec.to .. ": is no folder", "not_found"
  end
  local to <const> = ("%s/%s"):format(spec.to, name)
  if uv.fs_stat(to) then return nil, to .. ": is there already", "permission" end
  local moved, message, kind = uv.fs_rename(spec.file, to)
  if not moved and kind == "EXDEV" then moved, message = move_over(spec.file, to) end
  if not moved then return nil, message, "permission" end
  return { path = to, bytes = 0 }
end

return move
