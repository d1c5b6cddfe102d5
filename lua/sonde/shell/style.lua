--- The few colours of the shell, and none where they are not wanted.
-- @module sonde.shell.style
local style = {}

local CODES <const> = {
  prompt = "1;36", dim = "2", bold = "1", error = "1;31",
}

--- What paints a text.
-- @tparam boolean colored
-- @treturn function gets `prompt`, `dim`, `bold` or `error`, and the text
function style.painter(colored)
  if not colored then
    return function(_, words) return words end
  end
  return function(kind, words)
    return ("\27[%sm%s\27[0m"):format(CODES[kind], words)
  end
end

return style
