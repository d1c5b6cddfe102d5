--- SipHash-2-4: a keyed hash of short texts, so that who does not know the key
-- cannot try names until one fits.
-- @module sonde.redact.siphash
local unique <const> = require "sonde.base.unique"

local siphash = {}

local function rotate(x, n)
  return x << n | x >> (64 - n)
end

local function round(v0, v1, v2, v3)
  v0, v2 = v0 + v1, v2 + v3
  v1, v3 = rotate(v1, 13) ~ v0, rotate(v3, 16) ~ v2
  v0, v2 = rotate(v0, 32) + v3, v2 + v1
  v1, v3 = rotate(v1, 17) ~ v2, rotate(v3, 21) ~ v0
  return v0, v1, rotate(v2, 32), v3
end

-- The last bytes of a text, its length in the highest byte.
local function last_word(text, at)
  local word = (#text & 0xff) << 56
  for i = at, #text do word = word | text:byte(i) << 8 * (i - at) end
  return word
end

--- Hashes a text.
-- @tparam integer k0 the key's first half
-- @tparam integer k1 its second half
-- @tparam string text
-- @treturn integer 64 bits
function siphash.hash(k0, k1, text)
  local v0, v1 = k0 ~ 0x736f6d6570736575, k1 ~ 0x646f72616e646f6d
  local v2, v3 = k0 ~ 0x6c7967656e657261, k1 ~ 0x7465646279746573
  local function take(word)
    v3 = v3 ~ word
    v0, v1, v2, v3 = round(v0, v1, v2, v3)
    v0, v1, v2, v3 = round(v0, v1, v2, v3)
    v0 = v0 ~ word
  end
  local whole <const> = #text - #text % 8
  for at = 1, whole, 8 do take((("<I8"):unpack(text, at))) end
  take(last_word(text, whole + 1))
  v2 = v2 ~ 0xff
  for _ = 1, 4 do v0, v1, v2, v3 = round(v0, v1, v2, v3) end
  return v0 ~ v1 ~ v2 ~ v3
end

--- The key that a passphrase stands for.
-- @tparam string text
-- @treturn integer
-- @treturn integer
function siphash.key_of(text)
  return siphash.hash(0x0706050403020100, 0x0f0e0d0c0b0a0908, "sonde redact 0 " .. text),
    siphash.hash(0x0706050403020100, 0x0f0e0d0c0b0a0908, "sonde redact 1 " .. text)
end

--- A key that nobody knows.
-- @treturn integer
-- @treturn integer
function siphash.random_key()
  local k0, k1 = ("<i8i8"):unpack(unique.bytes(16))
  return k0, k1
end

return siphash
