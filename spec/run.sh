#!/bin/sh
# The suite: each file of specs in a process of its own, so that what ends one
# takes no other with it. Many specs look at live processes, and a machine that is
# busy for a moment can make one fail: files with failures are run once more at the
# end. What failed at first is shown above, and counts when it fails again.
# Usage: spec/run.sh BUILD BUSTED...
set -u

tally=$1/suite-tally
shift
longest=900 # seconds that one file may take; the slowest take about 60
most=6      # files that are tried again: more is no moment's matter

# Runs the command $2... on the file $1; sets `passed` and `failed`.
run_file() {
  file=$1
  shift
  rm -f "$tally"
  printf '%s ' "$file"
  SONDE_TALLY=$tally timeout --foreground -k 10 "$longest" "$@" "$file" </dev/null
  status=$?
  if [ -s "$tally" ]; then
    read -r passed failed <"$tally"
  else
    passed=0 failed=1
    printf '\nFAILED %s ended before its end, with status %s\n' "$file" "$status"
  fi
}

sum=0 part=0 lost=0 count=0 again=
for file in spec/*_spec.lua; do
  run_file "$file" "$@"
  if [ "$failed" -eq 0 ]; then
    sum=$((sum + passed))
  else
    part=$((part + passed)) lost=$((lost + failed))
    count=$((count + 1)) again="$again $file"
  fi
done

if [ "$count" -gt 0 ] && [ "$count" -le "$most" ]; then
  printf '\nonce more:%s\n' "$again"
  part=0 lost=0
  for file in $again; do
    run_file "$file" "$@"
    part=$((part + passed)) lost=$((lost + failed))
  done
fi

sum=$((sum + part))
printf '%d passed, %d failed\n' "$sum" "$lost"
[ "$lost" -eq 0 ] && [ "$sum" -gt 0 ]
