#!/bin/sh
# Runs build.py with a pip of its own, made anew for another Python: a distribution's Python may lack pip, and an old
# one packs PySpark five times slower.
set -eu
here=$(dirname "$(readlink -f "$0")")
build="$(dirname "$here")/.build" python="${PYTHON:-python3}"
tools="$build/pip"
key=$("$python" -c 'import os, sys; print(sys.version, os.path.realpath(sys.executable))' && cat "$here/pip.lock")

# Who makes that environment holds the lock alone, who uses it beside others: none is made anew under a build. build.py
# keeps it to its end, however that is; programs that it starts do not get it.
lock() { flock -n "$1" 9 || { echo "waiting for another build in $build" >&2 && flock "$1" 9; }; }
made() { [ "$(cat "$tools/.key" 2>/dev/null)" = "$key" ]; }
mkdir -p "$build"
exec 9>"$tools.lock"
lock -s
if ! made; then
  lock -x
  if ! made; then   # by another that was waited for
    "$python" -m venv --clear "$tools"
    "$tools/bin/python" -m pip install --quiet --require-hashes --requirement "$here/pip.lock"
    echo "$key" >"$tools/.key"
  fi
  lock -s
fi
MILLRACE_PYTHON="$tools/bin/python" exec "$tools/bin/python" "$here/build.py" "$@"
