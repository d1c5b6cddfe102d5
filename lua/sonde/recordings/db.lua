--- What `sonde record --profile db` asks for.
-- @module sonde.recordings.db
-- The bridge from DiagnosticSource to events: its argument names the events of
-- a source, what they stand for, and what is taken out of each.
local COMMANDS <const> = table.concat({
  "SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandBefore@Activity1Start:-Command;"
    .. "Command.CommandText;ConnectionId;Operation;Command.Connection.ServerVersion;"
    .. "Command.CommandTimeout;Command.CommandType;Command.Connection.ConnectionString;"
    .. "Command.Connection.Database;Command.Connection.DataSource;Command.Connection.PacketSize",
  "SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandAfter@Activity1Stop:",
  "Microsoft.EntityFrameworkCore/Microsoft.EntityFrameworkCore.Database.Command.CommandExecuting"
    .. "@Activity2Start:-Command;Command.CommandText;ConnectionId;IsAsync;Command.Connection."
    .. "ClientConnectionId;Command.Connection.ServerVersion;Command.CommandTimeout;"
    .. "Command.CommandType;Command.Connection.ConnectionString;Command.Connection.Database;"
    .. "Command.Connection.DataSource;Command.Connection.PacketSize",
  "Microsoft.EntityFrameworkCore/Microsoft.EntityFrameworkCore.Database.Command.CommandExecuted"
    .. "@Activity2Stop:",
}, "\r\n")

return {
  summary = "database commands of SqlClient and Entity Framework",
  providers = {
    "System.Threading.Tasks.TplEventSource:0x80:4",
    { name = "Microsoft-Diagnostics-DiagnosticSource", keywords = 0x3, level = 5,
      arguments = 'FilterAndPayloadSpecs="' .. COMMANDS .. '"' },
  },
  rundown = false,
}
