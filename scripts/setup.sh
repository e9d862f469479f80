#!/bin/sh
# Runs scripts/setup_env.py with a Python that is new enough; in sh, because the first Python at hand may be too old
# even to read that script. PYTHON=<command> chooses one.
set -eu
cd "$(dirname "$0")/.."

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -n "${PYTHON:-}" ]; then
    if ! command -v "$PYTHON" >/dev/null 2>&1; then
        echo "setup: PYTHON='$PYTHON' is no command; give the name or path of a Python 3.11 or newer" >&2
        exit 1
    fi
    if ! new_enough "$PYTHON"; then
        found=$("$PYTHON" --version 2>&1 || true)
        echo "setup: PYTHON='$PYTHON' is ${found:-not runnable}; riverrun needs Python 3.11 or newer" >&2
        exit 1
    fi
    exec "$PYTHON" -I scripts/setup_env.py
fi

# The environment's own Python comes first, so that a choice made once with PYTHON= holds for later runs.
for candidate in .venv/bin/python python3 python python3.13 python3.12 python3.11 python3.14; do
    if command -v "$candidate" >/dev/null 2>&1 && new_enough "$candidate"; then
        exec "$candidate" -I scripts/setup_env.py
    fi
done

found=$(python3 --version 2>&1) || found="no python3"
echo "setup: riverrun needs Python 3.11 or newer, found: $found" >&2
echo "setup: install one (for example: apt install python3 python3-venv, brew install python, uv python install)," >&2
echo "setup: then run again, with PYTHON=/path/to/python3 if it is not on PATH" >&2
exit 1
