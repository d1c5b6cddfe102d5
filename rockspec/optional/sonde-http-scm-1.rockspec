rockspec_format = "3.0"
package = "sonde-http"
version = "scm-1"

source = { url = "git+file://." }

description = { summary = "sonde: profiles over HTTP", license = "MIT" }

dependencies = { "lua >= 5.4, < 5.5", "sonde" }

external_dependencies = { ZLIB = { header = "zlib.h", library = "z" }, CURL = { library = "curl" } }

build = {
  type = "builtin",
  modules = {
    ["sonde.c.http"] = {
      sources = {
        "src/base/base64.c",
        "src/base/budget.c",
        "src/base/buffer.c",
        "src/base/hash.c",
        "src/base/json.c",
        "src/base/sha256.c",
        "src/base/strtab.c",
        "src/base/unpack.c",
        "src/lua/l_aux.c",
        "src/http/client.c",
        "src/http/transfer.c",
        "src/lua/http/l_http.c",
      },
      incdirs = { "src", "$(ZLIB_INCDIR)", "$(CURL_INCDIR)" },
      libdirs = { "$(ZLIB_LIBDIR)", "$(CURL_LIBDIR)" },
      libraries = { "curl", "z", "m" },
    },
  },
}
