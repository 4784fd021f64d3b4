#!/bin/sh
# Measures a monitor with many targets on this machine: measure.sh [TARGETS] [SECONDS]
#
# Prints its processor time, its memory, and how much later than planned its runs began. Needs Linux and curl.
set -eu

targets=${1:-1000}
seconds=${2:-180}
mcprove=${MCPROVE:-mcprove}
folder=$(mktemp -d)
started=
trap 'kill $started 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder"

for port in 17000 17001 17002 17003; do
    "$mcprove" serve demo --http 127.0.0.1:$port >/dev/null 2>&1 &
    started="$started $!"
done

{
    echo "suite: Many"
    echo "servers:"
    number=0
    while [ "$number" -lt "$targets" ]; do
        echo "  server$number: { url: 'http://127.0.0.1:$((17000 + number % 4))/mcp' }"
        number=$((number + 1))
    done
    echo "tests:"
    echo "  - { name: echoes, probe: true, call: echo, args: { message: hello }, expect: [{ is_error: false }] }"
} >many.yml

sleep 1
"$mcprove" monitor many.yml --every 60s --listen 127.0.0.1:17900 >changes.log 2>notes.log &
monitor=$!
started="$started $monitor"
# The first runs are not counted: all of them come within the first minute.
sleep 75
ticks() { awk '{ print $14 + $15 }' "/proc/$monitor/stat"; }
metrics() { curl -s http://127.0.0.1:17900/metrics; }
lateness() { metrics | sed -n 's/^mcprove_schedule_lateness_seconds_bucket//p'; }
before=$(ticks)
lateness >before.txt
sleep "$seconds"
after=$(ticks)
lateness >after.txt

echo "targets: $targets, measured for $seconds s"
echo "processor time: $(((after - before) * 1000 / $(getconf CLK_TCK) / seconds)) ms each second"
echo "memory: $(awk '/VmRSS/ { print int($2 / 1024) }' "/proc/$monitor/status") MiB, at most $(awk '/VmHWM/ { print int($2 / 1024) }' "/proc/$monitor/status") MiB"
echo "runs: $(metrics | awk '/^mcprove_runs_total/ { runs += $2 } END { print runs }'), not up: $(metrics | grep '^mcprove_runs_total' | grep -cv 'result="up"' || true)"
echo "lateness of runs, by upper bound in seconds:"
paste before.txt after.txt | awk '{ print "  " $1, $4 - $2 }'
