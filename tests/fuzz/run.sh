#!/usr/bin/env bash
# The long campaign of the fuzz targets, on one core: every target for so many seconds (default 120),
# from a seed that differs each time. A failure prints the target, its seed and the smallest input.
#
#   tests/fuzz/run.sh [SECONDS-A-TARGET] [SEED]
#
# Other logs to start from are found in ../shared or where POD_SHARED says.
set -euo pipefail
cd "$(dirname "$0")/../.."
export POD_FUZZ_SECONDS=${1:-120}
export POD_FUZZ_SEED=${2:-$(($(date +%s) * 1000))}
# Files are made and removed all the time: in memory, where there is a place for it.
if [ -d /dev/shm ] && [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi

results=$(mktemp)
trap 'rm -f "$results"' EXIT
nice cargo test --profile fuzz --workspace --locked --lib --bin pod --test fuzz \
    fuzz_ -- --nocapture --test-threads=1 | tee "$results" | grep --line-buffered -E '^(fuzz |test .*FAILED|thread|skipped)|panicked|minimal' || true
if grep -qE 'FAILED|panicked' "$results"; then
    sed -n '/panicked/,$p' "$results"
    echo "a target failed; its seed and its smallest input stand above" >&2
    exit 1
fi
awk '$1 == "fuzz" && $4 == "executions" { n += $3; t += $6; k++ }
     END { printf "%d executions over %d targets in %d s\n", n, k, t }' "$results"
