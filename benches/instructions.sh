#!/usr/bin/env bash
# Counts the instructions of the paths that must stay fast, and compares them with `instructions.txt`
# beside this file. No clock is involved, so it says the same on a busy machine. Ends with 1 if a count
# is more than 5 % above the figure there. Needs valgrind (Debian: apt-get install valgrind).
#
#     benches/instructions.sh            # compare
#     benches/instructions.sh --write    # write the figures anew, after a change that is meant
set -euo pipefail
cd "$(dirname "$0")/.."
figures=benches/instructions.txt

if ! command -v valgrind >/dev/null; then
    echo "valgrind is not installed, so no instructions are counted (Debian: apt-get install valgrind)"
    exit 0
fi

# The counted paths are tests that are ignored otherwise: so they reach what is private.
programs=$(cargo test --workspace --lib --profile counted --locked --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')

counted=$(
    for program in $programs; do
        crate=$(basename "$program" | sed 's/-[0-9a-f]*$//')
        for test in $("$program" --list --ignored | sed -n 's/: test$//p' | grep 'counted_' || true); do
            count=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null \
                "$program" --ignored --exact "$test" --test-threads=1 2>&1 |
                sed -n 's/.*Collected : \([0-9]*\)/\1/p')
            printf '%s %s\n' "$crate::${test##*::}" "$count"
        done
    done | sort
)

if [[ ${1:-} == --write ]]; then
    printf '%s\n' "$counted" >"$figures"
    cat "$figures"
    exit 0
fi

failed=0
while read -r name count; do
    known=$(sed -n "s/^$name //p" "$figures")
    if [[ -z $known ]]; then
        printf '%-50s %14d   new: write it down with --write\n' "$name" "$count"
        failed=1
        continue
    fi
    percent=$(((count - known) * 1000 / known))
    printf '%-50s %14d %+5d.%d %%\n' "$name" "$count" "$((percent / 10))" "$((percent < 0 ? -percent % 10 : percent % 10))"
    if ((count * 100 > known * 105)); then
        echo "more than 5 % above $known" >&2
        failed=1
    fi
done <<<"$counted"
exit "$failed"
