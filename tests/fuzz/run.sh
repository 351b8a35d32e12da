#!/usr/bin/env bash
# The long campaign of the fuzz targets, on one core: every target for so many seconds (default 120),
# from a seed that differs each time. A failure prints the target, its seed and the smallest input.
#
#   tests/fuzz/run.sh [SECONDS-A-TARGET] [SEED]
#
# It succeeds only if every target that stands in the sources has told its figures. Logs of other agents
# to start from are found in ../shared or where POD_SHARED says; without them it is one target short,
# and says so.
set -euo pipefail
cd "$(dirname "$0")/../.."
export POD_FUZZ_SECONDS=${1:-120}
export POD_FUZZ_SEED=${2:-$(($(date +%s) * 1000))}
# Files are made and removed all the time: in memory, where there is a place for it.
if [ -d /dev/shm ] && [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi

wanted=$(grep -rhoE '^ *fn fuzz_[a-z0-9_]+\(' --include='*.rs' crates tests | sed -E 's/.*fuzz_([a-z0-9_]+)\(/\1/' | sort)
output=$(mktemp)
trap 'rm -f "$output"' EXIT
# The name of the test stands before what it prints, on the same line.
set +e
nice cargo test --profile fuzz --workspace --locked --lib --bin pod --test fuzz \
    fuzz_ -- --nocapture --test-threads=1 | tee "$output" |
    grep --line-buffered -oE 'fuzz [a-z0-9_]+: [0-9]+ executions.*|skipped: .*|test .*FAILED|.*panicked.*|.*minimal.*'
status=${PIPESTATUS[0]}
set -e
if [ "$status" -ne 0 ]; then
    sed -n '/panicked/,$p' "$output"
    echo "a target failed, or none could be built; the seed and the smallest input stand above" >&2
    exit 1
fi

figures=$(grep -oE 'fuzz [a-z0-9_]+: [0-9]+ executions in [0-9.]+ s' "$output" || true)
ran=$(awk '$3 > 0 { sub(":", "", $2); print $2 }' <<<"$figures" | sort)
awk '$1 == "fuzz" { executions += $3; seconds += $6; targets++ }
     END { printf "%d executions over %d targets in %d s\n", executions, targets, seconds }' <<<"$figures"
missing=$(comm -23 <(echo "$wanted") <(echo "$ran"))
if [ -z "$wanted" ] || [ -n "$missing" ]; then
    echo "did not run: ${missing:-no target is in the sources}" | tr '\n' ' ' >&2
    echo >&2
    exit 1
fi
