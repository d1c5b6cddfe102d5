--- The options of redaction, declared apart so that a command which does not
-- redact loads nothing of it.
-- @module sonde.redact.options
return {
  { name = "redact", type = "boolean",
    help = "replace names, paths, labels, command lines and texts that are not a framework's by"
      .. " pseudonyms" },
  { name = "redact_key", type = "string", argname = "TEXT",
    help = "the same names get the same pseudonyms with the same key; random otherwise" },
  { name = "redact_allow", type = "pattern", many = true,
    help = "names that match stay; may be repeated" },
  { name = "redact_forbid", type = "string", many = true, argname = "WORD",
    help = "fail when this word is left, whatever the case of its letters; may be repeated" },
}
