--- Which profile of a Go process a view is.
-- @module sonde.golang.views
local views <const> = {}

--- The views, and what each measures. `profile` is its name for a server;
-- `sample_type` chooses one of the profile's; `gops` the signal that gives it too;
-- `timed`: the server collects it for a time that we choose.
views.list = {
  { name = "cpu", profile = "profile", gops = "cpu", timed = true, help = "time on a processor" },
  { name = "heap", profile = "heap", gops = "heap", help = "bytes in use, by who allocated them" },
  { name = "inuse_space", profile = "heap", gops = "heap", sample_type = "inuse_space",
    help = "the same" },
  { name = "inuse_objects", profile = "heap", gops = "heap", sample_type = "inuse_objects",
    help = "objects in use" },
  { name = "allocs", profile = "allocs", help = "bytes allocated since the start" },
  { name = "alloc_space", profile = "allocs", sample_type = "alloc_space", help = "the same" },
  { name = "alloc_objects", profile = "allocs", sample_type = "alloc_objects",
    help = "objects allocated since the start" },
  { name = "mutex", profile = "mutex", help = "delay of others by holders of locks" },
  { name = "block", profile = "block", help = "time blocked on locks and channels" },
  { name = "goroutine", profile = "goroutine", help = "goroutines" },
  { name = "trace", profile = "trace", gops = "trace", timed = true,
    help = "the execution trace, for go tool trace" },
  { name = "threadcreate", profile = "threadcreate", help = "threads, by what started them" },
}

--- Those that a Go process serves under a name of their own, as captures read them.
views.PROFILES = { "cpu", "heap", "allocs", "mutex", "block", "goroutine" }

local by_name <const> = {}
for _, view in ipairs(views.list) do by_name[view.name] = view end

--- The profile that a view is; names that we do not know are a program's own.
-- @tparam ?string name "cpu" without one
-- @treturn table `name profile` and what else `views.list` says of it
function views.get(name)
  name = name or "cpu"
  return by_name[name] or { name = name, profile = name, own = true }
end

return views
