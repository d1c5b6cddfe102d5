#!/bin/sh
# Runs one fuzzer for some seconds, beginning with the data of the suite.
# Usage: spec/c/fuzz.sh build/fuzz/NAME SECONDS
set -eu
program=$1
seconds=$2
name=$(basename "$program")
corpus=$(dirname "$program")/corpus-$name
mkdir -p "$corpus"

# Copies seeds under a name of their own; unpacks those in gzip as well.
seed() {
  for file in "$@"; do
    [ -s "$file" ] || continue
    target=$corpus/seed-$(echo "$file" | tr / _)
    cp "$file" "$target"
    case $file in
      *.gz) gzip -dc "$file" >"$target.plain" 2>/dev/null || : ;;
    esac
  done
}

case $name in
  pprof | later) seed $(find spec/data -name '*.pb.gz' -o -name '*.pb' -o -name '*.pprof') ;;
  folded) seed $(find spec/data -name '*.folded') ;;
  goroutine)
    seed $(find spec/data/cases spec/data/dumps -name '*.txt' -o -name '*.log') ;;
  unpack) seed $(find spec/data -name '*.gz' -size -100k) ;;
  elf)
    # Small programs: of the machine, and of its compilers when they are here.
    seed /usr/bin/true /bin/echo /usr/lib/*/crti.o
    echo 'int main(void) { return 0; }' | gcc -x c -O1 -o "$corpus/seed-program" - || :
    ;;
  jitdump)
    # A head of 40 bytes; "f" at 0x1000, 32 bytes; the same moved to 0x1800.
    { printf 'DTiJ\1\0\0\0\50\0\0\0\76\0\0\0\0\0\0\0\7\0\0\0'
      printf '\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
      printf '\0\0\0\0\72\0\0\0\1\0\0\0\0\0\0\0\7\0\0\0\7\0\0\0'
      printf '\0\20\0\0\0\0\0\0\0\20\0\0\0\0\0\0\40\0\0\0\0\0\0\0'
      printf '\1\0\0\0\0\0\0\0f\0'
      printf '\1\0\0\0\100\0\0\0\2\0\0\0\0\0\0\0\7\0\0\0\7\0\0\0'
      printf '\0\30\0\0\0\0\0\0\0\20\0\0\0\0\0\0\0\30\0\0\0\0\0\0'
      printf '\40\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0'
    } >"$corpus/seed-code" ;;
  textmap) printf '1000 20 a\n0x2000 1f b c\n' >"$corpus/seed-perf"
    printf 'ffffffff81000000 T _text\nffffffffc0000000 t f\t[ext4]\n' >"$corpus/seed-k" ;;
  *) seed $(find spec/data -name '*.nettrace' -size -300k -o -name '*tracelogging*') ;;
esac

echo "fuzz $name for $seconds s, $(ls "$corpus" | wc -l) inputs to begin with"
exec "$program" "$corpus" -max_total_time="$seconds" -timeout=10 \
  -rss_limit_mb=2048 -max_len=70000 -print_final_stats=1 -verbosity=0 \
  -artifact_prefix="$(dirname "$program")/$name-"
