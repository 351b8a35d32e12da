#!/usr/bin/env bash
# Makes the pictures of docs/guide.md with the real program, at a pseudo terminal.
#
# Drives POD_CLI (by default the debug build, which is brought up to date). Needs Python and, once, the
# package registry of Python for pyte, which reads what a terminal is sent.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
tools=${PICTURES_DIR:-$HOME/.pod-pictures}

if [ -z "${POD_CLI:-}" ]; then
  (cd "$root" && cargo build --locked --quiet --bin pod)
  POD_CLI=${CARGO_TARGET_DIR:-$root/target}/debug/pod
fi
if ! "$tools/bin/python" -c 'import pyte' 2>/dev/null; then
  python3 -m venv "$tools"
  "$tools/bin/python" -m pip install --quiet --disable-pip-version-check 'pyte==0.8.2' >&2
fi

# A path that says nothing about the machine.
scratch=/tmp/pod-pictures
rm -rf "$scratch"
mkdir -p "$scratch/bin" "$scratch/parser"
trap 'rm -rf "$scratch"' EXIT
ln -s "$POD_CLI" "$scratch/bin/pod"
export PATH="$scratch/bin:$PATH" POD_HOME="$scratch/home" LANG=C.UTF-8 TERM=xterm-256color
unset NO_COLOR COLUMNS ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_BASE_URL OPENAI_API_KEY POD_MODEL
export OLLAMA_HOST=127.0.0.1:1
cd "$scratch/parser"
git init -q . 2>/dev/null || true

shot() { # shot NAME ROWS TITLE [--until TEXT] -- COMMAND ...
  local name=$1 rows=$2 title=$3
  shift 3
  "$tools/bin/python" "$here/shot.py" 90 "$rows" "$here/$name.svg" --title "$title" "$@"
}

flags=(--model "scripted:$here/script.txt" --permission-mode acceptEdits --allowedTools Bash)
shot first-run 24 'pod -p "Write a parser"' -- pod -p 'Write a parser'
shot demo 26 'pod demo' -- pod demo
shot live 24 'pod -p "Write a parser"' --until '1/3 Testing' -- pod -p 'Write a parser' "${flags[@]}"
rm -rf "$POD_HOME" parser.sh
shot print 24 'pod -p "Write a parser" --verbose' -- pod -p 'Write a parser' --verbose "${flags[@]}"
shot tasks 24 'pod tasks' -- pod tasks
shot timeline 24 'pod tasks --timeline' -- pod tasks --timeline
shot sessions 24 'pod sessions' -- pod sessions
export POD_MODEL=ollama:qwen3
printf '[permissions]\nallow = ["Bash(cargo test:*)"]\n' >"$POD_HOME/config.toml"
shot config 24 'pod config' -- pod config
shot doctor 24 'pod doctor' -- pod doctor
# The kernel of the machine that drew it is nobody's business.
sed -i "s/$(uname -r)/6.12/" "$here/doctor.svg"
