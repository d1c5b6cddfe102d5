rockspec_format = "3.0"
package = "sonde-sqlite"
version = "scm-1"

source = { url = "git+file://." }

description = { summary = "sonde: the store in one file", license = "MIT" }

dependencies = { "lua >= 5.4, < 5.5", "sonde" }

external_dependencies = { ZLIB = { header = "zlib.h", library = "z" }, SQLITE = { library = "sqlite3" } }

build = {
  type = "builtin",
  modules = {
    ["sonde.c.sqlite"] = {
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
        "src/lua/sqlite/l_sqlite.c",
        "src/lua/sqlite/l_statement.c",
        "src/lua/sqlite/l_sums.c",
      },
      incdirs = { "src", "$(ZLIB_INCDIR)", "$(SQLITE_INCDIR)" },
      libdirs = { "$(ZLIB_LIBDIR)", "$(SQLITE_LIBDIR)" },
      libraries = { "sqlite3", "z", "m" },
    },
  },
}
