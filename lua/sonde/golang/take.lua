--- Options that say what is taken of a running Go process, as data only.
-- @module sonde.golang.take
return {
  { name = "duration", type = "duration", min = 1,
    help = "of a running Go program: how long its CPU profile takes (default 10s)" },
  { name = "delta", type = "duration", min = 1,
    help = "of a running Go program: only what is added to the profile within this time" },
  { name = "gc", type = "boolean",
    help = "of a running Go program: collect garbage before its heap profile is taken" },
}
