return {
  summary = "exceptions that are thrown, with their stacks",
  providers = { "Microsoft-Windows-DotNETRuntime:exception+loader+jit:5" },
  view = "exception",
}
