#!/bin/sh
# What `make demo` shows: a trace that lies in the repository, what it says,
# and a flame graph of it.
# Usage: examples/demo.sh COMMAND
set -eu
sonde=$1
trace=spec/data/demo.nettrace
graph=build/demo.svg

echo "\$ sonde $trace"
"$sonde" "$trace"
echo
echo "\$ sonde convert $trace --view running -o $graph"
"$sonde" convert "$trace" --view running -o "$graph"
cat <<END

The flame graph lies in $graph: open it in any browser, for instance
   xdg-open $graph
Without a browser here, copy it: scp $(hostname 2>/dev/null || echo HOST):$(pwd)/$graph .

The command lies in $sonde and runs from any directory; make install puts it
into /usr/local. Try:
   $sonde                      examples of all it does
   $sonde inspect $trace
   $sonde report tree $trace --focus Alpha
END
