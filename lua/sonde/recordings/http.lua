--- What `sonde record --profile http` asks for.
-- @module sonde.recordings.http
return {
  summary = "requests that come in and go out",
  providers = {
    "Microsoft.AspNetCore.Hosting:*:4", "Microsoft-AspNetCore-Server-Kestrel:*:4",
    "System.Net.Http:*:4", "System.Net.NameResolution:*:4", "System.Net.Security:*:4",
    "System.Net.Sockets:*:2",
    -- Activities: what belongs to which request.
    "System.Threading.Tasks.TplEventSource:0x80:4",
  },
  rundown = false,
}
