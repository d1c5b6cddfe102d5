--- Hides what should not be on a screen or in a bug report. This is a courtesy
-- by well-known names and forms, no protection.
-- @module sonde.base.secrets
local secrets = {}

--- What stands in place of a secret.
secrets.MASK = "***"

-- Words that make a name that of a secret, in lower case and without
-- separators.
local WORDS <const> = {
  "password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "accesskey",
  "accountkey", "privatekey", "signingkey", "encryptionkey", "credential", "connectionstring",
  "connstr", "authorization", "cookie", "sas", "dsn", "license", "webhook",
}

-- Names that contain such a word and are none.
local HARMLESS <const> = { PWD = true, OLDPWD = true }

--- Is this the name of a secret?
-- @tparam string name of a variable or an option
-- @treturn boolean
function secrets.is_secret(name)
  if HARMLESS[name] then return false end
  local plain <const> = name:lower():gsub("[^%w]", "")
  for _, word in ipairs(WORDS) do
    if plain:find(word, 1, true) then return true end
  end
  return false
end

-- Secrets that show by their form: passwords in URLs, key=value lists with
-- telling keys, web tokens.
local function mask_forms(text)
  text = text:gsub("(%a[%w+.-]*://[^/:@%s]*:)[^/@%s]+(@)", "%1" .. secrets.MASK .. "%2")
  text = text:gsub("([%a][%w _-]*)=([^;]+)", function(key, _)
    return secrets.is_secret(key) and key .. "=" .. secrets.MASK or nil
  end)
  return (text:gsub("eyJ[%w_-]+%.[%w_-]+%.[%w_-]*", secrets.MASK))
end

--- The value of a variable, as it may be shown.
-- @tparam string name
-- @tparam string value
-- @treturn string
function secrets.value(name, value)
  if value == "" then return value end
  if secrets.is_secret(name) then return secrets.MASK end
  return mask_forms(value)
end

--- The words of a command line, as they may be shown.
-- @tparam {string,...} words
-- @treturn {string,...} a new list
function secrets.words(words)
  local shown, hide_next = {}, false
  for i, word in ipairs(words) do
    local option <const>, value <const> = word:match("^(%-%-?[^=]+)=(.*)$")
    if hide_next and word:sub(1, 1) ~= "-" then
      shown[i] = secrets.MASK
    elseif option then
      shown[i] = option .. "=" .. secrets.value(option, value)
    else
      shown[i] = mask_forms(word)
    end
    hide_next = option == nil and word:sub(1, 1) == "-" and secrets.is_secret(word)
  end
  return shown
end

return secrets
