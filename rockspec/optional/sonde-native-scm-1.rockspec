rockspec_format = "3.0"
package = "sonde-native"
version = "scm-1"

source = { url = "git+file://." }

description = { summary = "sonde: symbols and probes of native processes", license = "MIT" }

dependencies = { "lua >= 5.4, < 5.5", "sonde" }

external_dependencies = { ZLIB = { header = "zlib.h" }, DW = { header = "elfutils/libdw.h" } }

build = {
  type = "builtin",
  modules = {
    ["sonde.c.native"] = {
      sources = {
        "src/base/base64.c",
        "src/base/budget.c",
        "src/base/buffer.c",
        "src/base/hash.c",
        "src/base/json.c",
        "src/base/strtab.c",
        "src/base/unpack.c",
        "src/profile/calltree.c",
        "src/profile/filter.c",
        "src/profile/frames.c",
        "src/profile/graph.c",
        "src/profile/intern.c",
        "src/profile/later.c",
        "src/profile/merge.c",
        "src/profile/nodes.c",
        "src/profile/pack.c",
        "src/profile/pack_timeline.c",
        "src/profile/pack_view.c",
        "src/profile/pack_write.c",
        "src/profile/path.c",
        "src/profile/paths.c",
        "src/profile/profile.c",
        "src/profile/reshape.c",
        "src/profile/rewrite.c",
        "src/profile/stacks.c",
        "src/profile/tags.c",
        "src/profile/timeline.c",
        "src/profile/transfer.c",
        "src/pprof/appended.c",
        "src/pprof/decode.c",
        "src/pprof/encode.c",
        "src/pprof/gzip.c",
        "src/pprof/hint.c",
        "src/pprof/later.c",
        "src/pprof/pprof.c",
        "src/pprof/samples.c",
        "src/pprof/tables.c",
        "src/pprof/wire.c",
        "src/lua/l_aux.c",
        "src/symbols/demangle.c",
        "src/symbols/elf_functions.c",
        "src/probe/attach.c",
        "src/probe/bpfcall.c",
        "src/probe/code.c",
        "src/probe/emit.c",
        "src/probe/emit_part.c",
        "src/probe/hitring.c",
        "src/probe/maps.c",
        "src/probe/run.c",
        "src/lua/native/l_elf.c",
        "src/lua/native/l_native.c",
        "src/lua/native/l_probe.c",
        "src/lua/native/l_probe_attach.c",
        "src/lua/native/l_probe_read.c",
        "src/lua/native/l_symbols.c",
      },
      incdirs = { "src", "$(ZLIB_INCDIR)", "$(DW_INCDIR)" },
      libdirs = { "$(ZLIB_LIBDIR)", "$(DW_LIBDIR)" },
      libraries = { "dw", "elf", "iberty", "z", "m" },
    },
  },
}
