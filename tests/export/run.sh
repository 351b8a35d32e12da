#!/usr/bin/env bash
# The page of `pod export --html` in a real browser (Chromium), at the width of a telephone and of a desk,
# light and dark, with hostile text in it: nothing is wider than the window, and nothing runs.
#
#   run.sh [FOLDER]     FOLDER keeps the page and pictures of it
#
# Drives POD_CLI (by default the debug build, which is brought up to date) and installs Chromium from
# Debian if there is none. No network but that, no key. Ends with "N passed, N failed".
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
keep=${1:-}

if [ -z "${POD_CLI:-}" ]; then
  (cd "$root" && cargo build --locked --quiet --bin pod)
  POD_CLI=${CARGO_TARGET_DIR:-$root/target}/debug/pod
fi
if ! command -v chromium >/dev/null; then
  as_root=$([ "$(id -u)" = 0 ] || echo sudo)
  $as_root apt-get update -q >/dev/null
  $as_root apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core >/dev/null
fi

scratch=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$scratch" 2>/dev/null || true' EXIT
mkdir "$scratch/work" "$scratch/site"
export POD_HOME=$scratch/home
cd "$scratch/work"
prompt='Write <b>the parser</b> of <script>window.hacked = 1</script> & test it: a_name_without_spaces_that_is_longer_than_a_line_of_a_telephone'
"$POD_CLI" -p "$prompt" --model "scripted:$here/script.txt" --permission-mode acceptEdits >/dev/null
"$POD_CLI" export --html --output "$scratch/site/page.html"
# The same page without its policy: what keeps scripts from running must not be the policy alone.
sed '/http-equiv="Content-Security-Policy"/d' "$scratch/site/page.html" >"$scratch/site/without-policy.html"
! cmp -s "$scratch/site/page.html" "$scratch/site/without-policy.html"
cp "$here/check.html" "$scratch/site"

# A frame may be looked into only if it comes from the same server.
cd "$scratch/site"
python3 -u -m http.server --bind 127.0.0.1 0 >"$scratch/server" 2>/dev/null &
server=$!
for _ in $(seq 100); do grep -q 'port [0-9]' "$scratch/server" && break; sleep 0.1; done
port=$(sed -nE 's/.*port ([0-9]+).*/\1/p' "$scratch/server" | head -1)

browse() { # browse FLAG ... ADDRESS
  timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
    --user-data-dir="$scratch/profile" --virtual-time-budget=5000 "$@" 2>/dev/null
}

passed=0
failed=0
for page in page without-policy; do
  for width in 390 1280; do
    found=$(browse --window-size=1300,1000 --dump-dom "http://127.0.0.1:$port/check.html?page=$page.html&width=$width" |
      grep -oE '>(FITS|FAULT) [^<]*' | head -1 || true)
    if [ "$found" = ">FITS $width" ]; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      echo "$page.html at $width: ${found:-no answer of the browser}"
    fi
  done
done

if [ -n "$keep" ]; then
  mkdir -p "$keep"
  cp "$scratch/site/page.html" "$keep"
  for width in 390 1280; do
    for scheme in light:1 dark:0; do
      browse --window-size="$width,1600" --blink-settings="preferredColorScheme=${scheme#*:}" --hide-scrollbars \
        --screenshot="$keep/$width-${scheme%:*}.png" \
        "http://127.0.0.1:$port/check.html?page=page.html&width=$width&height=1600&folded" || true
    done
  done
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
