#!/bin/sh
# Converts every file of another tool below some folders by itself, and checks the suites that come out:
#   MCPROVE=target/debug/mcprove tests/real/convert.sh FOLDER...
# Prints how many become a suite whole, in part and not at all, and how many suites `mcprove check` accepts.
# With `--run`, the folders are suites of mcp-assert, and run with both tools: see `convert-verdicts.mjs`.
set -eu
if [ "${1-}" = --run ]; then
    shift
    exec node "$(dirname "$0")/convert-verdicts.mjs" "$@"
fi
mcprove=$(command -v "${MCPROVE:-mcprove}")
case $mcprove in /*) ;; *) mcprove=$PWD/$mcprove ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/fixtures"
find "$@" -type f \( -name '*.yaml' -o -name '*.yml' -o -name '*.json' \) | LC_ALL=C sort > "$work/files"
whole=0 part=0 none=0 refused=0 accepted=0
while read -r file; do
    if ! "$mcprove" convert "$file" > "$work/suite.yml" 2> "$work/messages"; then
        refused=$((refused + 1))
        echo "not recognised: $file: $(head -n 1 "$work/messages")"
        continue
    fi
    if ! grep -q '^ *expect:$\|^ *listen:\|^ *expect: \[{' "$work/suite.yml"; then
        none=$((none + 1))
    elif grep -q '^warning' "$work/messages"; then
        part=$((part + 1))
        echo "in part: $file: $(grep '^warning' "$work/messages" | head -n 1)"
    else
        whole=$((whole + 1))
    fi
    # Some tools name the server on the command line.
    if head -n 1 "$work/suite.yml" | grep -q 'Name the server'; then
        sed -i '2a server: { builtin: demo }' "$work/suite.yml"
    fi
    if "$mcprove" check "$work/suite.yml" > "$work/checked" 2>&1; then
        accepted=$((accepted + 1))
    else
        echo "not accepted: $file: $(grep '^error' "$work/checked" | head -n 1)"
    fi
done < "$work/files"
echo "$whole whole, $part in part, $none without a test that runs, $refused not recognised; check accepts $accepted"
