#!/bin/sh
# What people install, into empty places: the rocks, built, packed, installed
# from the packed files, used by a part of the suite and removed; then the same
# of `make install`. Nothing is fetched: luarocks is told of no server.
# Usage: rockspec/check.sh BUILD
set -eu

build=$1
if ! command -v luarocks >/dev/null 2>&1; then
  echo 'the rocks are not checked: luarocks is not installed' >&2
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

fail() {
  echo "rockspec/check.sh: $1" >&2
  [ ! -s "$work/log.${2-run}" ] || tail -n 20 "$work/log.${2-run}" >&2
  exit 1
}

# The Lua modules of Debian's packages are no rocks; these lines say that they
# are there.
cat >"$work/config.lua" <<'CONFIG'
rocks_servers = {}
rocks_provided = {
  argparse = "0.7.1-1", dkjson = "2.5-3", luv = "1.43.0-0",
  ["lrexlib-pcre2"] = "2.9.1-1",
}
CONFIG

# It is the lists of files that are tried: nothing is optimized.
rocks() {
  log=$work/log.$1
  tree=$2
  shift 2
  HOME=$work LUAROCKS_CONFIG=$work/config.lua \
    luarocks --lua-version 5.4 --tree "$tree" "$@" \
    CC="${CC:-gcc}" CFLAGS='-std=c11 -O0 -fPIC' >>"$log" 2>&1
}

rockspec_of() {
  case $1 in
  sonde) echo "rockspec/$1-scm-1.rockspec" ;;
  *) echo "rockspec/optional/$1-scm-1.rockspec" ;;
  esac
}

# Makes and packs one rock, in a copy of the sources and in a tree of its own:
# luarocks leaves objects beside the sources. The others need `sonde` only when
# they are installed.
make_rock() {
  needs=
  [ "$1" = sonde ] || needs='--deps-mode none'
  mkdir "$work/$1"
  cp -R Makefile LICENSE README.md lua src rockspec docs examples "$work/$1"
  cd "$work/$1"
  rocks "$1" "$work/$1/tree" make "$(rockspec_of "$1")" $needs
  rocks "$1" "$work/$1/tree" pack "$1"
}

names=sonde
for module in http native sqlite; do
  [ ! -e "$build/lua/sonde/c/$module.so" ] || names="$names sonde-$module"
done

running=
for name in $names; do
  make_rock "$name" &
  running="$running $name:$!"
done
for one in $running; do
  wait "${one#*:}" || fail "${one%:*}: make or pack" "${one%:*}"
done

for name in $names; do
  rocks run "$work/tree" install "$work/$name/$name"-scm-1.*.rock || fail "$name: install"
  rm -rf "${work:?}/$name"
done

# The suite where neither lua nor src is: what it finds was installed.
run_suite() {
  root=$1
  shift
  rm -rf "$work/stage"
  mkdir -p "$work/stage/$build/lua"
  cp -R spec docs examples README.md CHANGELOG.md .busted "$work/stage"
  ln -s "$root/bin/sonde" "$work/stage/$build/sonde"
  ln -s "$root/lib/lua/5.4/sonde" "$work/stage/$build/lua/sonde"
  files=
  for name in "$@"; do files="$files spec/${name}_spec.lua"; done
  (cd "$work/stage" \
    && SONDE_BUILD=$build \
      LUA_PATH="$root/share/lua/5.4/?.lua;$root/share/lua/5.4/?/init.lua;;" \
      LUA_CPATH="$root/lib/lua/5.4/?.so;;" \
      lua5.4 "$(command -v busted)" $files </dev/null >"$work/log.run" 2>&1)
}

# Specs of every layer that start no .NET or Go process, so that they are quick.
specs='cut filter folded html input json names nettrace options policies pprof
  profile report_export report_small sandbox shell synth text trace units'
has() {
  case " $names " in
  *" sonde-$1 "*) return 0 ;;
  esac
  return 1
}
if has http; then specs="$specs http"; fi
if has sqlite; then specs="$specs sqlite"; fi
if has native; then specs="$specs symbols"; fi

run_suite "$work/tree" $specs || fail 'the suite fails with the installed rocks'
counts=$(tail -n 1 "$work/log.run")

# Are there files in a tree besides the list that luarocks keeps of rocks?
is_empty() {
  [ -z "$(find "$1" ! -type d ! -name manifest | head -n 1)" ]
}

# Those that need sonde go first.
for name in $(printf '%s\n' $names | sort -r); do
  rocks run "$work/tree" remove "$name" || fail "$name: remove"
done
is_empty "$work/tree" \
  || fail "removed rocks leave $(find "$work/tree" ! -type d | head -n 3)"
echo "rocks: $counts with the installed ones ($names)"

# What make installs, under another name than it will have. The jobs of the make
# that called this are not ours to give away.
unset MAKEFLAGS MFLAGS
make --no-print-directory install BUILD="$build" DESTDIR="$work/made" PREFIX=/usr \
  >"$work/log.run" 2>&1 || fail 'make install'
made=$work/made/usr
for file in share/man/man1/sonde.1 share/bash-completion/completions/sonde \
  share/zsh/site-functions/_sonde share/fish/vendor_completions.d/sonde.fish; do
  [ -s "$made/$file" ] || fail "make install: no $file"
done
run_suite "$made" cut folded shell || fail 'the suite fails with what make installed'
make --no-print-directory uninstall BUILD="$build" DESTDIR="$work/made" PREFIX=/usr
is_empty "$made" || fail "make uninstall leaves $(find "$made" ! -type d | head -n 3)"
echo 'make install, make uninstall: well'
