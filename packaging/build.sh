#!/bin/sh
# Runs build.py with a pip of its own: a distribution's Python may lack pip, and an old one packs PySpark five times
# slower.
set -eu
here=$(dirname "$(readlink -f "$0")")
tools="$here/../.build/pip"
if ! [ -f "$tools/.lock" ] || ! cmp -s "$here/pip.lock" "$tools/.lock"; then
  "${PYTHON:-python3}" -m venv --clear "$tools"
  "$tools/bin/pip" install --quiet --require-hashes --requirement "$here/pip.lock"
  cp "$here/pip.lock" "$tools/.lock"
fi
MILLRACE_PYTHON="$tools/bin/python" exec "$tools/bin/python" "$here/build.py" "$@"
