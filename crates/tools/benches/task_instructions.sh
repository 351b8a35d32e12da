#!/usr/bin/env bash
# Shows without a clock that a change of the task list costs the same at any size: counts the
# instructions of a create and of an update with 10 to 100,000 tasks there already. Ends with 1 if
# the largest list takes more than 1.25 times what the smallest takes. Needs valgrind.
#
#     crates/tools/benches/task_instructions.sh
set -euo pipefail
cd "$(dirname "$0")/../../.."

if ! command -v valgrind >/dev/null; then
    echo "valgrind is not installed, so no instructions are counted (Debian: apt-get install valgrind)"
    exit 0
fi

# The program as it is while developing: whether a cost grows does not depend on optimisation.
program=$(cargo build -p tools --bench task_store --locked --message-format=json |
    sed -n 's/.*"executable":"\([^"]*task_store[^"]*\)".*/\1/p')

# Instructions of the program with a list of $2 tasks and $3 changes of kind $1.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" count "$1" "$2" "$3" 2>&1 |
        sed -n 's/.*Collected : \([0-9]*\)/\1/p'
}

changes=200
failed=0
for kind in create update; do
    smallest=
    for existing in 10 1000 10000 100000; do
        idle=$(instructions "$kind" "$existing" 0)
        busy=$(instructions "$kind" "$existing" "$changes")
        each=$(((busy - idle) / changes))
        smallest=${smallest:-$each}
        printf '%-6s %7d tasks: %7d instructions, %3d %% of those at 10\n' \
            "$kind" "$existing" "$each" "$((each * 100 / smallest))"
    done
    if ((each * 100 > smallest * 125)); then
        echo "$kind grows with the list" >&2
        failed=1
    fi
done
exit "$failed"
