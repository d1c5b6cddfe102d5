#!/bin/sh
# The suite. Many specs look at live processes, and a machine that is busy for a
# moment can make one fail: files with failures are run once more, alone. What
# failed at first is shown above, and counts when it fails again.
# Usage: spec/run.sh BUILD BUSTED...
set -u

failed=$1/failed-specs
shift
rm -f "$failed"
SONDE_FAILED=$failed "$@" </dev/null && exit 0

# With so many it is no moment's matter; without a list the runner itself failed.
most=6
[ -s "$failed" ] || exit 1
passed=$(head -n 1 "$failed")
files=$(tail -n +2 "$failed")
[ -n "$files" ] && [ "$(echo "$files" | wc -l)" -le "$most" ] || exit 1

printf '\nonce more, alone: %s\n' "$(echo $files)"
SONDE_PASSED=$passed exec "$@" $files </dev/null
