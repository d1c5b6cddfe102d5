# sonde: build, try, test, install.
#
#   make            build build/sonde and its C module
#   make demo       install what is missing, build, show a sample trace
#   make test       install what is missing, build, run the suite
#   make lint test test-rock test-browser test-qemu sanitize fuzz bench docs
#   make install uninstall clean
#
# Settings, all of which may be given on the command line:

LUA     = lua5.4
PREFIX  = /usr/local
DESTDIR =
BUILD   = build
OPTIMIZE = -O2
V       = 0
FUZZ_SECONDS = 60

# No need to change anything below this line.

ifeq ($(origin CC),default)
CC = gcc
endif

LUA_VERSION = 5.4
LUA_CFLAGS := $(shell pkg-config --cflags lua$(LUA_VERSION) 2>/dev/null \
                || echo -I/usr/include/lua$(LUA_VERSION))
JOBS := $(shell nproc 2>/dev/null || echo 2)

WARNINGS = -Wall -Wextra -pedantic -Wshadow -Wstrict-prototypes \
           -Wmissing-prototypes -Wconversion -Wundef -Wwrite-strings
CFLAGS_ALL = -std=c11 $(OPTIMIZE) -fPIC -fvisibility=hidden $(WARNINGS) \
             -Isrc $(LUA_CFLAGS) -MMD -MP $(SANITIZE_FLAGS) $(CFLAGS)
LIBS = -lz -lm

# The pure folders need no Lua and no system: fuzzers link them alone.
PURE    := $(wildcard $(addprefix src/,$(addsuffix /*.c,\
             base profile pprof nettrace clr ipc text elf)))
SOURCES := $(PURE) $(wildcard src/sys/*.c src/lua/*.c)
OBJECTS := $(SOURCES:src/%.c=$(BUILD)/obj/%.o)
CORE    := $(BUILD)/lua/sonde/c/core.so

# Modules that are built where their library is: folders of sources, and the
# library's name for pkg-config; of what that does not know, a header and flags.
# Their bindings are in src/lua/NAME.
OPTIONAL = http native sqlite
http_FOLDERS = http
http_LIBRARY = libcurl
native_FOLDERS = symbols probe
native_LIBRARY = libdw libelf
native_HEADER = libiberty/demangle.h
native_LIBS = -liberty
sqlite_LIBRARY = sqlite3

sources_of = $(wildcard src/lua/$(1)/*.c $(patsubst %,src/%/*.c,$($(1)_FOLDERS)))
has_header = $(if $($(1)_HEADER),echo '\#include <$($(1)_HEADER)>' \
               | $(CC) -E - >/dev/null 2>&1,:)
is_here = $(shell pkg-config --exists $($(1)_LIBRARY) 2>/dev/null \
            && $(call has_header,$(1)) && echo yes)
BUILT := $(foreach name,$(OPTIONAL),\
           $(if $(call sources_of,$(name)),$(if $(call is_here,$(name)),$(name))))
MORE    := $(foreach name,$(BUILT),$(call sources_of,$(name)))
LINTED  := $(patsubst src/%.c,$(BUILD)/lint/%.o,$(SOURCES) $(MORE))
MODULES := $(CORE) $(BUILT:%=$(BUILD)/lua/sonde/c/%.so)
COMMAND := $(BUILD)/sonde
SHARED_FILES := $(shell find lua -type f)
NPM     := build/npm
FUZZERS := $(patsubst spec/c/fuzz_%.c,%,$(wildcard spec/c/fuzz_*.c))

ifneq ($(V),1)
Q = @
say = @printf '%-5s %s\n' $(1) $(2)
endif

BUSTED = SONDE_BUILD=$(BUILD) $(LUA) "$$(command -v busted)"
SUBMAKE = +$(Q)$(MAKE) --no-print-directory -j$(JOBS)

.PHONY: all demo test test-rock test-browser test-qemu lint lint-c lint-lua \
        lint-js sanitize sanitize-run fuzz bench docs generated install \
        uninstall clean
.DELETE_ON_ERROR:

all: $(MODULES) $(COMMAND)

$(CORE): $(OBJECTS)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared $(SANITIZE_FLAGS) $(LDFLAGS) -o $@ $(OBJECTS) $(LIBS)

# What the optional modules share with the core they take from here.
$(BUILD)/common.a: $(OBJECTS)
	@rm -f $@
	$(Q)$(AR) rcs $@ $(OBJECTS)

define optional_module
$(BUILD)/lua/sonde/c/$(1).so: \
    $(patsubst src/%.c,$(BUILD)/obj/%.o,$(call sources_of,$(1))) $(BUILD)/common.a
	$$(call say,LINK,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) -shared $$(SANITIZE_FLAGS) $$(LDFLAGS) -Wl,--exclude-libs,ALL \
	  -o $$@ $$^ $$(shell pkg-config --libs $($(1)_LIBRARY)) $($(1)_LIBS) $$(LIBS)
endef
$(foreach name,$(BUILT),$(eval $(call optional_module,$(name))))

$(BUILD)/obj/%.o: src/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -c -o $@ $<

# The command is main.lua under its users' name; it finds the modules beside
# itself, so it runs from any directory.
$(COMMAND): lua/sonde/main.lua Makefile
	$(call say,MAKE,$@)
	@mkdir -p $(@D)
	$(Q)sed "1s|.*|#!$$(command -v $(LUA) || echo '/usr/bin/env $(LUA)')|" $< > $@
	$(Q)chmod 755 $@

demo:
	$(Q)sh .ci/install run
	$(SUBMAKE) all
	$(Q)sh examples/demo.sh $(COMMAND)

# The checks of the HTML page in Chromium are part of the suite; where what they
# use cannot be had, they are skipped and say why.
test:
	$(Q)sh .ci/install run test
	$(Q)sh .ci/page $(NPM) chromium || :
	$(Q)sh .ci/machine $(BUILD)/qemu || :
	$(SUBMAKE) all
	$(SUBMAKE) test-rock
	$(Q)sh spec/run.sh $(BUILD) env $(BUSTED) --ignore-lua

# What people install, installed into empty places, used and removed again: the
# rocks, and what `make install` copies: a minute or two, and never more than fifteen.
test-rock: all
	$(Q)CC="$(CC)" timeout 900 sh rockspec/check.sh $(BUILD)

# The HTML page in Chromium alone.
test-browser:
	$(Q)sh .ci/install run test
	$(Q)sh .ci/page $(NPM) chromium
	$(SUBMAKE) all
	$(Q)$(BUSTED) spec/browser_spec.lua </dev/null

# Probes of kernel functions, in a virtual machine that has them.
test-qemu:
	$(Q)sh .ci/install run test
	$(Q)sh .ci/machine $(BUILD)/qemu
	$(SUBMAKE) all
	$(Q)$(BUSTED) spec/probe_kernel_spec.lua </dev/null

# The page's scripts are checked where the linter can be had.
lint:
	$(Q)sh .ci/install run lint
	$(SUBMAKE) lint-c lint-lua
	$(Q)if sh .ci/page $(NPM); then $(MAKE) --no-print-directory lint-js; \
	  else echo 'so the scripts of the page are not checked' >&2; fi

lint-c: $(LINTED)

$(BUILD)/lint/%.o: src/%.c
	$(call say,LINT,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -Werror -c -o $@ $<

lint-lua:
	$(call say,LINT,lua)
	$(Q)luacheck --quiet lua spec examples bench rockspec .luacheckrc .busted

# The page's scripts: rules, and that all of them together are one script.
PRINT_SCRIPT = io.write(require("sonde.report.html.assets").script "app.js")

lint-js:
	$(Q)sh .ci/page $(NPM)
	$(call say,LINT,lua/sonde/report/html)
	$(Q)node $(NPM)/node_modules/eslint/bin/eslint.js \
	  -c spec/browser/eslint.config.mjs lua/sonde/report/html spec/browser
	$(Q)LUA_PATH='lua/?.lua' $(LUA) -e '$(PRINT_SCRIPT)' > $(NPM)/page.mjs
	$(Q)node --check $(NPM)/page.mjs

# The suite under the address and undefined-behaviour sanitizers, then again
# with a collector that never rests, then the specs of the bindings with a
# full collection at every call.
sanitize:
	$(Q)sh .ci/install run test
	$(SUBMAKE) sanitize-run BUILD=$(BUILD)/sanitize OPTIMIZE='-O1 -g' \
	  SANITIZE_FLAGS='-fsanitize=address,undefined -fno-sanitize-recover=undefined'

# Those of the bindings whose inputs are small: each call costs a collection.
BINDING_SPECS = $(patsubst %,spec/%_spec.lua,\
  binding input profile profile_filter filter folded pprof sqlite)

PRELOAD = LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) \
  $$($(CC) -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0

sanitize-run: all
	$(Q)sh spec/run.sh $(BUILD) env $(PRELOAD) $(BUSTED) --ignore-lua
	$(Q)sh spec/run.sh $(BUILD) env $(PRELOAD) SONDE_GC_STRESS=1 $(BUSTED) --ignore-lua
	$(Q)$(PRELOAD) SONDE_GC_EVERY_CALL=1 $(BUSTED) $(BINDING_SPECS)

# Each decoder alone, without Lua, seeded with the traces of the suite. What
# they share is compiled once.
FUZZ_FLAGS = -std=c11 -O1 -g -Isrc -fsanitize=address,undefined \
             -fno-sanitize-recover=undefined
FUZZ_OBJECTS = $(PURE:src/%.c=$(BUILD)/fuzz/obj/%.o)

fuzz:
	$(Q)sh .ci/install run fuzz
	$(SUBMAKE) $(FUZZERS:%=$(BUILD)/fuzz/%)
	$(Q)set -e; for name in $(FUZZERS); do \
	  sh spec/c/fuzz.sh $(BUILD)/fuzz/$$name $(FUZZ_SECONDS); \
	done

# Make takes them for intermediate files, which it removes.
.SECONDARY: $(FUZZ_OBJECTS)

$(BUILD)/fuzz/obj/%.o: src/%.c
	$(call say,CLANG,$<)
	@mkdir -p $(@D)
	$(Q)clang $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(BUILD)/fuzz/%: spec/c/fuzz_%.c $(FUZZ_OBJECTS)
	$(call say,FUZZ,$*)
	@mkdir -p $(@D)
	$(Q)clang $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $< $(FUZZ_OBJECTS) $(LIBS)

bench:
	$(Q)sh .ci/install run
	$(SUBMAKE) all
	$(Q)$(LUA) bench/run.lua $(COMMAND)

docs:
	$(Q)sh .ci/install run docs
	$(SUBMAKE) generated
	$(Q)$(LUA) "$$(command -v ldoc)" --fatalwarnings --dir $(BUILD)/docs .

# The manual page and the completions come from the declarations of the verbs.
MAN      = $(BUILD)/man/sonde.1
BASH_COMPLETION = $(BUILD)/completion/sonde
ZSH_COMPLETION  = $(BUILD)/completion/_sonde
FISH_COMPLETION = $(BUILD)/completion/sonde.fish

generated: all
	@mkdir -p $(BUILD)/man $(BUILD)/completion
	$(Q)$(COMMAND) completion man >$(MAN)
	$(Q)$(COMMAND) completion bash >$(BASH_COMPLETION)
	$(Q)$(COMMAND) completion zsh >$(ZSH_COMPLETION)
	$(Q)$(COMMAND) completion fish >$(FISH_COMPLETION)

ROOT  = $(DESTDIR)$(PREFIX)
SHARE = $(ROOT)/share/lua/$(LUA_VERSION)
LIB   = $(ROOT)/lib/lua/$(LUA_VERSION)
INSTALLED_MAN  = $(ROOT)/share/man/man1/sonde.1
INSTALLED_BASH = $(ROOT)/share/bash-completion/completions/sonde
INSTALLED_ZSH  = $(ROOT)/share/zsh/site-functions/_sonde
INSTALLED_FISH = $(ROOT)/share/fish/vendor_completions.d/sonde.fish

install: all generated
	$(Q)for file in $(SHARED_FILES:lua/%=%); do \
	  install -D -m 644 "lua/$$file" "$(SHARE)/$$file" || exit 1; \
	done
	$(Q)for module in $(MODULES); do \
	  install -D -m 755 $$module $(LIB)/sonde/c/$$(basename $$module) || exit 1; \
	done
	$(Q)install -D -m 755 $(COMMAND) $(ROOT)/bin/sonde
	$(Q)install -D -m 644 $(MAN) $(INSTALLED_MAN)
	$(Q)install -D -m 644 $(BASH_COMPLETION) $(INSTALLED_BASH)
	$(Q)install -D -m 644 $(ZSH_COMPLETION) $(INSTALLED_ZSH)
	$(Q)install -D -m 644 $(FISH_COMPLETION) $(INSTALLED_FISH)

uninstall:
	$(Q)rm -rf $(SHARE)/sonde $(LIB)/sonde
	$(Q)rm -f $(ROOT)/bin/sonde $(INSTALLED_MAN) $(INSTALLED_BASH) \
	  $(INSTALLED_ZSH) $(INSTALLED_FISH)

clean:
	$(Q)rm -rf $(BUILD)

-include $(OBJECTS:.o=.d) $(MORE:src/%.c=$(BUILD)/obj/%.d) $(LINTED:.o=.d) $(FUZZ_OBJECTS:.o=.d)
