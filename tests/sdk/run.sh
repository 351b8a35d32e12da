#!/usr/bin/env bash
# The suite with the real Claude Agent SDKs, in Python and TypeScript, against POD_CLI (by default the
# debug build, which is brought up to date). No network but the package registries, no key.
#
#   run.sh [python|typescript] [TEST ...]     TEST is a name as unittest has it
#
# Installs what it needs (setup.sh), and ends with "N passed, N failed".
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

if [ -z "${POD_CLI:-}" ]; then
  (cd "$root" && cargo build --locked --quiet --bin pod) || exit 1
  POD_CLI=${CARGO_TARGET_DIR:-$root/target}/debug/pod
fi
export POD_CLI
dir=$("$here/setup.sh" | tail -1) && [ -d "$dir" ] || { echo "the SDKs could not be installed"; exit 1; }

which=all
case ${1:-} in python | typescript) which=$1; shift ;; esac
passed=0
failed=0

count() { # count OUTPUT, whose last line of the kind is "... N passed, M failed"
  local line
  line=$(grep -E '[0-9]+ passed, [0-9]+ failed$' "$1" | tail -1)
  if [ -z "$line" ]; then
    failed=$((failed + 1))
  else
    passed=$((passed + $(sed -E 's/.*[^0-9]([0-9]+) passed.*/\1/' <<<" $line")))
    failed=$((failed + $(sed -E 's/.*passed, ([0-9]+) failed/\1/' <<<"$line")))
  fi
}

output=$(mktemp)
trap 'rm -rf "$output" "${copy:-}"' EXIT

if [ "$which" != typescript ]; then
  (cd "$here/python" && PYTHONDONTWRITEBYTECODE=1 "$dir/venv/bin/python" run.py "$@") 2>&1 | tee "$output"
  count "$output"
fi
if [ "$which" != python ]; then
  # Node looks for packages from where the program is.
  copy=$(mktemp -d "$dir/ts/suite-XXXXXX")
  cp "$here"/typescript/*.mts "$copy"
  "$dir/ts/node_modules/.bin/tsx" "$copy/suite.mts" 2>&1 | tee "$output"
  count "$output"
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
