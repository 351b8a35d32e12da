#!/usr/bin/env bash
# Installs the two Claude Agent SDKs, pinned, and the TypeScript runner that the suite needs.
#
#   setup.sh            into $SDK_DIR (default $HOME/.pod-sdk), which is reused when it already holds these versions
#
# Layout: $SDK_DIR/venv (Python) and $SDK_DIR/ts/node_modules (TypeScript). Prints the folder on the last line.
set -euo pipefail

python_sdk=0.2.189
typescript_sdk=0.3.332
tsx=4.20.6

dir=${SDK_DIR:-$HOME/.pod-sdk}
mkdir -p "$dir/ts"

installed_python() {
  "$dir/venv/bin/python" -c 'from importlib.metadata import version; print(version("claude-agent-sdk"))' 2>/dev/null
}

installed_node() { # installed_node PACKAGE
  node -p "require('$dir/ts/node_modules/$1/package.json').version" 2>/dev/null
}

if [ "$(installed_python)" != "$python_sdk" ]; then
  [ -x "$dir/venv/bin/python" ] || python3 -m venv "$dir/venv"
  "$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check "claude-agent-sdk==$python_sdk" >&2
fi

if [ "$(installed_node @anthropic-ai/claude-agent-sdk)" != "$typescript_sdk" ] || [ ! -x "$dir/ts/node_modules/.bin/tsx" ]; then
  [ -f "$dir/ts/package.json" ] || echo '{"name": "pod-sdk-suite", "private": true, "type": "module"}' >"$dir/ts/package.json"
  (cd "$dir/ts" && npm install --silent --no-audit --no-fund --save-exact \
    "@anthropic-ai/claude-agent-sdk@$typescript_sdk" "tsx@$tsx" >&2)
fi

echo "$dir"
