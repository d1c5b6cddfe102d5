--- Options that say how an HTTP server is talked to, as data only: verbs show them
-- without loading what makes requests.
-- @module sonde.base.connection
return {
  { name = "header", type = "string", many = true, argname = "LINE",
    help = "to a server, send this line of the head too, as 'Name: value'; may be repeated" },
  { name = "ca", type = "path",
    help = "certificates to trust, instead of the system's (also $SSL_CERT_FILE)" },
  { name = "insecure", type = "boolean", help = "do not check a server's certificate" },
}
