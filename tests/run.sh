#!/bin/bash
# Runs layers of tests: `all`, as `make test` does, or those that are named, one after the other. Prints what each cost;
# stops at the first that fails.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
export PATH="$PWD/.venv/bin:$PATH" CONTAINERS_CONF="$PWD/lab/containers.conf" ANSIBLE_FORCE_COLOR=0 NO_COLOR=1
LOGS=.build/logs
export MILLRACE_TEST_COSTS="$PWD/$LOGS/test-costs"   # tests/conftest.py adds what each folder cost

lint() {
  yamllint --strict .
  ruff check .
  ruff format --check .
  mypy collections/ansible_collections/millrace/kafka/plugins/{plugin_utils,module_utils,filter,lookup,doc_fragments} \
    packaging lab/up.py lab/wordcount.py tests/{conftest,campaign,bench_*,generate_*}.py \
    tests/{faults,infra,lab,listeners,model,operations,render,rotation,security,survival,unit}
  shellcheck .ci/run tests/run.sh lab/*.sh lab/image/*.sh packaging/*.sh packaging/*/bin/*.sh
  ansible-lint --offline --strict --profile production
}

# Tests take from a few milliseconds to ten seconds, so idle processes take over what others have not begun.
unit() { pytest -n auto --maxprocesses 4 --dist worksteal tests/unit tests/model; }

render() { pytest tests/render; }

# The jobs' tests run in an environment of their own, made from the wheelhouse that the role installs; pytest and mypy
# are the control node's.
spark() {
  local venv=.build/venv-spark house key path
  house=$(packaging/build.sh --list wheelhouse)
  key=$(cat "$house.sha512" requirements.lock | sha256sum)
  if [ "$(cat "$venv/.key" 2>/dev/null)" != "$key" ]; then
    rm -rf "$venv" .build/wheelhouse
    mkdir -p .build/wheelhouse
    tar -xf "$house" -C .build/wheelhouse --strip-components=1
    python -m venv "$venv"
    "$venv/bin/pip" install --quiet --no-compile --no-index --find-links .build/wheelhouse pyspark confluent-kafka
    rm -rf .build/wheelhouse
    path=$(echo "$venv"/lib/python3*/site-packages)/control-node.pth
    python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$path"
    echo "$key" >"$venv/.key"
  fi
  "$venv/bin/pip" install --quiet --no-index --no-deps --force-reinstall .build/archives/millrace_jobs-*.whl
  "$venv/bin/python" -m mypy --cache-dir .build/mypy-spark --strict spark_jobs/src
  "$venv/bin/python" -m pytest tests/spark
}

# The containers themselves: made twice, side by side, left behind, removed.
lab() { pytest tests/lab; }

# Two stretched clusters side by side, whose servers are taken away one by one and in pairs.
survival() { pytest -n 2 tests/survival; }

molecule() {
  local scenario
  [ $# -gt 0 ] || set -- datacenter
  for scenario in "$@"; do
    steps "$scenario" test
  done
}

# SCENARIO STEP...: steps of a molecule scenario, on networks that no other checkout's lab holds.
steps() {
  local scenario=$1 inventory step
  inventory=$(python lab/derive.py "molecule/$scenario/inventory" --holder $$)
  inventory=$(realpath --relative-to="molecule/$scenario" "$inventory")
  for step in "${@:2}"; do
    echo "--- molecule $step -s $scenario"
    MILLRACE_INVENTORY=$inventory command molecule "$step" -s "$scenario"
  done
}

# `molecule test` of the datacenter in two parts: what is promised in seconds (marker `timed`) is tested on a machine
# that does nothing else, all the rest beside other layers.
site() {
  steps datacenter destroy create prepare converge
  PYTEST_ADDOPTS="-m 'not campaign and not timed'" steps datacenter verify
}
timed() {
  PYTEST_ADDOPTS="-m 'timed and not campaign'" steps datacenter verify
  steps datacenter destroy
}

# One layer after the other; where standard output is a log, the terminal (3) still sees how far it is.
run() {
  local layer before
  for layer in "$@"; do
    before=$SECONDS
    echo "=== $layer"
    "$layer"
    before="$layer: $((SECONDS - before)) s"
    echo "$before" >>"$MILLRACE_TEST_COSTS"
    echo "=== $before, passed"
    echo "=== $before, passed" >&3
  done
}

# Lanes of layers side by side: each waits for much, and the others compute meanwhile. Each lane's output is shown when
# all have ended.
together() {
  local lane number=0 lanes=() failed=0
  for lane in "$@"; do
    number=$((number + 1))
    : >"$LOGS/test-costs$number"
    # shellcheck disable=SC2086  # a lane is a list of layers
    MILLRACE_TEST_COSTS="$PWD/$LOGS/test-costs$number" run $lane >"$LOGS/test-lane$number.log" 2>&1 &
    lanes+=("$!")
  done
  for number in "${!lanes[@]}"; do wait "${lanes[number]}" || failed=1; done
  for number in "${!lanes[@]}"; do
    cat "$LOGS/test-lane$((number + 1)).log"
    cat "$LOGS/test-costs$((number + 1))" >>"$MILLRACE_TEST_COSTS"
  done
  [ "$failed" = 0 ] || {
    echo "=== a layer failed: see above" >&2
    exit 1
  }
}

all() {
  trap 'steps datacenter destroy >"$LOGS/destroy.log" 2>&1 || true' EXIT
  together "lint unit render spark lab" survival site
  run timed
  trap - EXIT
}

for layer in "${@:-none}"; do
  case $layer in
    all | lint | unit | render | spark | lab | survival | molecule) ;;
    *) [ "${1:-}" = molecule ] || {
      echo "run.sh: no layer $layer; there are: all lint unit render spark lab survival molecule" >&2
      exit 2
    } ;;
  esac
done
mkdir -p "$LOGS"
: >"$MILLRACE_TEST_COSTS"
exec 3>&1
if [ "${1:-}" = molecule ] && [ $# -gt 1 ]; then
  molecule "${@:2}"
  exit
fi
if [ "$*" = all ]; then all; else run "$@" 3>/dev/null; fi
echo "all passed in $SECONDS s; what each layer, and each folder of tests, cost:"
sed 's/^/  /' "$MILLRACE_TEST_COSTS"
