#!/bin/bash
# Runs the layers of tests that are named, cheap ones first as given, and stops at the first that fails. Prints each layer's time.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
export PATH="$PWD/.venv/bin:$PATH" CONTAINERS_CONF="$PWD/lab/containers.conf" ANSIBLE_FORCE_COLOR=0 NO_COLOR=1

lint() {
  yamllint --strict .
  ruff check .
  ruff format --check .
  mypy plugins/module_utils/millrace packaging lab/up.py lab/wordcount.py tests/conftest.py tests/faults tests/infra tests/lab tests/listeners tests/model tests/operations tests/security tests/survival tests/unit tests/render tests/rotation tests/bench_*.py tests/generate_*.py
  shellcheck .ci/run tests/run.sh lab/*.sh lab/image/*.sh packaging/*.sh packaging/*/bin/*.sh
  ansible-lint --offline --strict --profile production
}

unit() { pytest tests/unit tests/model; }

render() { pytest tests/render; }

# The jobs' tests run in an environment of their own, made from the wheelhouse that the role installs; pytest and mypy are the
# control node's.
spark() {
  local venv=.build/venv-spark house key
  house=$(echo .build/archives/spark-wheelhouse-*.tar)
  key=$(cat "$house.sha512" requirements.lock | sha256sum)
  if [ "$(cat "$venv/.key" 2>/dev/null)" != "$key" ]; then
    rm -rf "$venv" .build/wheelhouse
    mkdir -p .build/wheelhouse
    tar -xf "$house" -C .build/wheelhouse --strip-components=1
    python -m venv "$venv"
    "$venv/bin/pip" install --quiet --no-compile --no-index --find-links .build/wheelhouse pyspark confluent-kafka
    rm -rf .build/wheelhouse
    python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$(echo "$venv"/lib/python3*/site-packages)/control-node.pth"
    echo "$key" >"$venv/.key"
  fi
  "$venv/bin/pip" install --quiet --no-index --no-deps --force-reinstall .build/archives/millrace-*.whl
  "$venv/bin/python" -m mypy --strict spark_jobs/src
  "$venv/bin/python" -m pytest tests/spark
}

# The containers themselves: made twice, side by side, left behind, removed.
lab() { pytest tests/lab; }

# Two stretched clusters, whose servers are taken away one by one and in pairs.
survival() { pytest tests/survival; }

molecule() {
  local scenario
  [ $# -gt 0 ] || set -- datacenter
  for scenario in "$@"; do
    echo "--- molecule test -s $scenario"
    command molecule test -s "$scenario"
  done
}

layers=("$@")
if [ "${1:-}" = molecule ] && [ $# -gt 1 ]; then
  molecule "${@:2}"
  exit
fi
summary=()
for layer in "${layers[@]}"; do
  echo "=== $layer"
  SECONDS=0
  "$layer"
  summary+=("$layer: $SECONDS s")
  echo "=== $layer: passed in $SECONDS s"
done
printf '%s\n' "all passed:" "${summary[@]/#/  }"
