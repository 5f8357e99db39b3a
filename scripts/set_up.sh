#!/bin/sh
# Bring .venv to what one requirements file says: `scripts/set_up.sh requirements.txt`. Called by make.
# A fingerprint inside .venv makes a second run cost nothing; it holds the path too, because a moved .venv is broken.
set -eu
requirements=$1
python=${PYTHON:-python3}
stamp=.venv/.installed-$requirements

fingerprint() {
    { cat "$requirements" pyproject.toml; pwd; .venv/bin/python -V; } 2>&1 | cksum
}

if [ -x .venv/bin/onevoice ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(fingerprint)" ]; then
    exit 0
fi

fail() {
    echo "onevoice cannot be set up: $1" >&2
    exit 1
}

command -v "$python" >/dev/null ||
    fail "$python is missing; on Debian: apt install python3 python3-venv"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$("$python" -V) is too old; install 3.11 or newer and name it, such as: make PYTHON=python3.12"
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
    fail "$python has no venv module; on Debian: apt install python3-venv"

# A .venv that an interrupt left half-made, or that belongs to another Python or path, starts anew.
if ! .venv/bin/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    ! grep -qsF "$(pwd)/.venv/" .venv/bin/pip; then
    rm -rf .venv
    "$python" -m venv .venv
fi

echo "Installing $requirements into .venv …"
rm -f "$stamp"
.venv/bin/python -m pip install --quiet --require-hashes --requirement "$requirements" ||
    fail "a package of $requirements did not install; the lines above say which and why"
.venv/bin/python -m pip install --quiet --no-build-isolation --no-deps --editable . ||
    fail "the package itself did not install; the lines above say why"
fingerprint >"$stamp"
