#!/bin/bash
# Runs layers of tests: `all`, as `make test` does, or those that are named, one after the other until one fails; of
# `all` a lane ends there. Ends on SIGINT and SIGTERM; whatever happens, no lab of these tests stays, and what each
# layer cost is printed.
# A second run in the checkout is refused, with status 2.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
export PATH="$PWD/.venv/bin:$PATH" CONTAINERS_CONF="$PWD/lab/podman.conf" ANSIBLE_FORCE_COLOR=0 NO_COLOR=1
LOGS=.build/logs
MAY_LEAVE="spark lab"   # as INPUTS of tests/ci_layers.py
LEAVE=   # layers that CI leaves out; they are of this run alone, and not of one that a test starts
for layer in $MAY_LEAVE; do
  [[ "$*" != all || " ${LEFT_OUT:-} " != *" $layer "* ]] || LEAVE+=" $layer"
done
unset MILLRACE_LAB_CGROUP MILLRACE_LANE_CGROUP LEFT_OUT   # of a run that started this one
# Of the caller: they could leave out tests, or the assertions of helpers. Parts of the campaign choose their tests of
# one layer by PYTEST_ADDOPTS.
unset PYTHONOPTIMIZE POSIXLY_CORRECT
[ "$*" != all ] || unset PYTEST_ADDOPTS
export MILLRACE_TEST_COSTS="$PWD/$LOGS/test-costs"   # tests/costs.py adds what each folder cost

lint() {
  yamllint --strict .
  ruff check .
  ruff format --check .
  # What mypy keeps it compares with the files' contents, so checkouts share it.
  mypy --cache-dir "${XDG_CACHE_HOME:-${HOME:-$PWD/.build}/.cache}/millrace/mypy" \
    collections/ansible_collections/millrace/kafka/plugins/{plugin_utils,module_utils,filter,lookup,doc_fragments} \
    packaging lab/up.py lab/wordcount.py lab/orders.py \
    tests/*.py \
    tests/{faults,infra,lab,listeners,model,operations,render,rotation,security,survival,unit}
  python tests/plain_words.py
  shellcheck .ci/run tests/run.sh lab/*.sh lab/image/*.sh packaging/*.sh packaging/*/bin/*.sh
  # With site.yml come the layers; what lab, molecule and tests hold is run.
  ansible-lint --offline --strict --profile production roles playbooks/*.yml meta
}

# Tests take from a few milliseconds to ten seconds, so idle processes take over what others have not begun. They wait
# half of their time, so two of them keep a processor busy.
unit() { pytest -n $((2 * $(nproc))) --maxprocesses 8 --dist worksteal tests/unit tests/model; }

render() { pytest tests/render; }

# The jobs' environment: made for the control node's Python from the wheelhouse that the role installs; pytest and mypy
# are the control node's.
jobs_environment() {
  local venv=.build/venv-spark house key path
  house=$(packaging/build.sh --list wheelhouse)
  key=$({ python -c 'import os, sys; print(sys.version, os.path.realpath(sys.executable))' &&
    cat "$house.sha512" requirements.lock; } | sha256sum)
  if [ "$(cat "$venv/.key" 2>/dev/null)" != "$key" ]; then
    rm -rf "$venv" .build/wheelhouse
    mkdir -p .build/wheelhouse
    tar -xf "$house" -C .build/wheelhouse --strip-components=1
    python -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --no-compile --no-index --find-links .build/wheelhouse \
      pyspark confluent-kafka 'psycopg[binary]' pyarrow
    rm -rf .build/wheelhouse
    echo "$key" >"$venv/.key"
  fi
  path=$(echo "$venv"/lib/python3*/site-packages)/control-node.pth   # where the checkout stands now
  python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$path"
  "$venv/bin/python" -m pip install --quiet --no-index --no-deps --force-reinstall .build/archives/millrace_jobs-*.whl
}

# What a change touches, within four minutes.
quick() { python tests/changed.py "${BASE:-origin/main}"; }

spark() {
  jobs_environment
  .build/venv-spark/bin/python -m mypy --cache-dir .build/mypy-spark --strict spark_jobs/src
  .build/venv-spark/bin/python -m pytest tests/spark
}

bench-jobs() {
  jobs_environment
  PYTHONPATH=tests python tests/bench_jobs.py
}

# The containers themselves: made twice, side by side, removed.
lab() { pytest tests/lab; }

# A stretched cluster whose servers are taken away one by one and in pairs.
survival() { pytest tests/survival; }

molecule() {
  local scenario
  for scenario in "${scenarios[@]}"; do
    steps "$scenario" test
  done
}

# SCENARIO STEP...: steps of a molecule scenario, on networks that no other checkout's lab holds.
steps() {
  local scenario=$1 inventory step
  inventory=$(python lab/derive.py "molecule/$scenario/inventory" --holder $$) || return
  inventory=$(realpath --relative-to="molecule/$scenario" "$inventory")
  for step in "${@:2}"; do
    echo "--- molecule $step -s $scenario"
    MILLRACE_INVENTORY=$inventory command molecule "$step" -s "$scenario"
  done
}

# The lab of a whole site, made by `make lab` as a person types it. Before that, check mode changes nothing on its bare
# hosts; after it, each service was started once. What is promised in seconds (marker `timed`) is tested once no other
# cluster runs.
DATACENTER=molecule/datacenter/inventory
site() {
  local inventory
  python lab/down.py $DATACENTER   # left behind by a run that was killed
  inventory=$(python lab/derive.py $DATACENTER --holder $$)
  ansible-playbook -i "$inventory" lab/create.yml molecule/datacenter/issuer.yml
  PYTHONPATH=tests:collections python tests/operations/untouched.py "$inventory" \
    ansible-playbook -i "$inventory" playbooks/site.yml --check --diff
  PYTHON=$PWD/.venv/bin/python make --no-print-directory lab i=../$DATACENTER TEXT=LICENSE
  ansible-playbook -i "$inventory" molecule/shared/started_once.yml
  datacenter "not campaign and not timed"
}
timed() {
  datacenter "timed and not campaign"
  python lab/down.py $DATACENTER
}

# MARKERS: the tests with these markers, on the lab of a whole site.
datacenter() {
  local inventory
  inventory=$(python lab/derive.py $DATACENTER --holder $$)
  pytest -m "$1" --inventory "$inventory" tests/{infra,operations,security,listeners,faults,rotation}
}

# Steps of a lane that are no layers. Its layers stand aside: they take the time that clusters leave, and less still
# when the bounds of timed tests stand or fall with it.
aside() {
  renice -n 10 -p "$BASHPID" >/dev/null
  share 200 && echo "$BASHPID" >$GROUP/cgroup.procs || true
}
quiet() {
  while kill -0 "${lanes[1]}" 2>/dev/null && ! grep -q '^spark: ' $LOGS/*.costs; do sleep 1; done
  renice -n 19 -g "${lanes[0]}" >/dev/null 2>&1 || true   # unless it has ended
  share 100 || true
}

# NUMBER: the weight of what stands aside, as one, where all containers have 1024 together and each task of no group has
# as much. Between groups nobody hears of nice. On a machine with cgroup v1, for root; else nice is all.
GROUP=/sys/fs/cgroup/cpu/millrace-tests-$$
share() { [ -e /sys/fs/cgroup/cpu/tasks ] && mkdir -p $GROUP 2>/dev/null && echo "$1" >$GROUP/cpu.shares; }

# Ends this shell on whatever would end it without a word, with the exit status that says which: an EXIT trap runs then.
on_signals() {
  local name
  for name in HUP INT PIPE ALRM TERM USR1 USR2 XCPU; do
    # shellcheck disable=SC2064  # the number of this signal
    trap "exit $((128 + $(kill -l "$name")))" "$name"
  done
}

# LOG LAYER...: one layer after the other. Where the lane's output is a log, it is heard of each layer at once (3).
lane() {
  LOG=$1
  [ -z "$LOG" ] || export MILLRACE_TEST_COSTS=$PWD/$LOG.costs
  shift
  on_signals
  counted
  [ -z "$CONTAINERS" ] || export MILLRACE_LAB_CGROUP=$CONTAINERS/$1-$BASHPID
  layer=$1 began=$SECONDS before=0 inside=0
  trap 'ended "$layer" "$began" "$before" "$inside" "$?"' EXIT
  for layer in "$@"; do
    case $layer in aside | quiet) "$layer" && continue ;; esac
    case " $LEAVE " in *" $layer "*)
      echo "$layer: LEFT OUT, its inputs are as they were when it last ran and landed" |
        tee -a "$MILLRACE_TEST_COSTS" >&3
      continue ;;
    esac
    before=0 inside=0 began=$SECONDS
    computed before
    contained inside
    echo "=== $layer"
    "$layer"
    ended "$layer" "$began" "$before" "$inside" 0
  done
  trap - EXIT
}

# Puts this lane into a control group that counts its CPU time, of processes that nobody waits for too, as Spark's JVM.
# Only where it counts alone (cgroup v1, root): a group of the controller cpu would change the lane's share.
counted() {
  OWN=/sys/fs/cgroup/cpuacct/millrace-lane-$$-$BASHPID
  [ ! -e /sys/fs/cgroup/cpuacct/cpu.shares ] && mkdir "$OWN" 2>/dev/null && echo "$BASHPID" >"$OWN/cgroup.procs" || OWN=
  export MILLRACE_LANE_CGROUP=${OWN#/sys/fs/cgroup/cpuacct}
}

# NAME: sets this variable to the CPU-seconds of this lane's commands: of its control group, else of those that have
# ended and were waited for. What runs in containers is not in them.
OWN=
computed() {
  local file=$LOGS/times.$BASHPID used
  if [ -n "$OWN" ]; then
    read -r used <"$OWN/cpuacct.usage"
    printf -v "$1" %d $(((used + 500000000) / 1000000000))
  else
    times >"$file"
    printf -v "$1" %.0f "$(sed -n '2{y/ms/  /;p}' "$file" | awk '{ print 60 * ($1 + $3) + $2 + $4 }')"
  fi
}

# NAME: sets this variable to the CPU-seconds that this lane's containers have used so far, or to an empty text where
# they are not counted.
CONTAINERS=
contained() {
  local file used
  printf -v "$1" ''
  [ -n "${MILLRACE_LAB_CGROUP:-}" ] || return 0
  printf -v "$1" 0   # no container was made yet
  for file in "/cpuacct$MILLRACE_LAB_CGROUP/cpuacct.usage" "$MILLRACE_LAB_CGROUP/cpu.stat"; do
    file=/sys/fs/cgroup$file
    if [ -e "$file" ]; then
      read -r used <"$file"   # nanoseconds, or "usage_usec" and microseconds
      case $used in usage_usec*) used=${used#* }000 ;; esac
      printf -v "$1" %d $((used / 1000000000))
    fi
  done
}

# LAYER BEGAN BEFORE INSIDE CODE: prints and notes how a lane's layer ended, and the CPU-seconds of its commands and
# containers, without those before it began.
ended() {
  local took="$((SECONDS - $2)) s" said now within
  computed now
  contained within
  took+=" ($((now - $3)) s of CPU${within:+, $((within - ${4:-0})) in containers})"
  printf '{"layer": "%s", "wall": %d, "own": %d, "containers": %s, "until": %d}\n' "$1" $((SECONDS - $2)) \
    $((now - $3)) "$([ -z "$within" ] && echo null || echo $((within - ${4:-0})))" "$(date +%s)" >>$LOGS/layers.jsonl
  case $5 in
    0) said="$took, passed" ;;
    129 | 13? | 14? | 152) said="interrupted after $took" ;;
    *) said="FAILED after $took${LOG:+ (log: $LOG)}" ;;
  esac
  echo "$1: ${said%, passed}" >>"$MILLRACE_TEST_COSTS"
  echo "=== $1: $said"
  echo "=== $1: $said" >&3
}

# LOG LAYER...: starts a lane, in a process group of its own.
begin() {
  set -m
  lane "$@" </dev/null &
  set +m
  lanes+=("$!")
}

# LAYER...: one lane, whose output is shown as it comes.
alone() {
  local failed=0
  begin '' "$@" 3>/dev/null
  wait "${lanes[-1]}" || failed=$?
  lanes=()
  return "$failed"
}

# Lanes side by side: each waits for much, and the others compute meanwhile. Their output is shown when all have ended;
# `failed` says whether any has failed.
together() {
  local lane log
  for lane in "$@"; do
    log=$LOGS/test-lane$((${#shown[@]} + ${#logs[@]} + 1)).log
    : >"$log.costs"
    # shellcheck disable=SC2086,SC2094  # a lane is a list of layers, and knows its log's name
    begin "$log" $lane >"$log" 2>&1
    logs+=("$log")
  done
  for lane in "${lanes[@]}"; do wait "$lane" || failed=1; done
  lanes=()
  show
}

# What lanes side by side said, and what they cost.
show() {
  local log
  for log in "${logs[@]}"; do
    cat "$log"
    cat "$log.costs" >>"$MILLRACE_TEST_COSTS"
  done
  shown+=("${logs[@]}")
  logs=()
}

# Ends lanes that still run as Ctrl-C does, so that tests remove their labs: within five minutes, and then for good.
stop() {
  local lane left=300
  for lane in "${lanes[@]}"; do kill "-$ends" -- "-$lane" 2>/dev/null || true; done
  for lane in "${lanes[@]}"; do
    while kill -0 "$lane" 2>/dev/null && [ $((left -= 1)) -gt 0 ]; do sleep 1; done
  done
  for lane in "${lanes[@]}"; do kill -KILL -- "-$lane" 2>/dev/null || true; done
}

# Once no lane runs any more: labs of tests that were interrupted, the datacenter's among them.
remove() {
  local scenario
  python lab/down.py .lab/tests .lab/survival_lab_stretch{2,2_5,3} $DATACENTER || true
  for scenario in "${scenarios[@]}"; do
    steps "$scenario" destroy || true
  done
}

# GROUP: removes a control group; a process that is just ending keeps it for a moment.
empty() {
  local _
  for _ in {1..50}; do
    [ -d "$1" ] || return 0
    rmdir "$1" 2>/dev/null || sleep 0.1
  done
}

# Removes control groups of runs that were killed with -9: their process is gone. Those that hold something stay.
sweep() {
  local group owner
  for group in /sys/fs/cgroup/*/millrace-{tests,lane,labs}-[0-9]*; do
    owner=${group#*/millrace-*-} owner=${owner%%-*}
    [ ! -d "$group" ] || kill -0 "$owner" 2>/dev/null ||
      find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done
}

# In the end, whatever it is; a second signal does not disturb it.
finish() {
  local code=$? log process word=all
  set +e   # nobody may read what is said any more: tee ended by the same Ctrl-C
  trap - EXIT
  trap '' HUP INT PIPE TERM
  if [ "$code" != 0 ]; then
    word=NOT\ all
    [ ${#lanes[@]} = 0 ] || echo "=== interrupted: the tests are ended, and their labs removed" >&3
    stop
    [ -z "$labs" ] || remove >"$LOGS/destroy.log" 2>&1
  fi
  empty $GROUP
  show
  [ -z "$pace" ] || kill "$pace" 2>/dev/null
  for log in "/sys/fs/cgroup/cpuacct/millrace-lane-$$-"*; do   # ssh keeps connections for a minute
    while read -r process; do echo "$process" >/sys/fs/cgroup/cpuacct/cgroup.procs; done <"$log/cgroup.procs"
    empty "$log"
  done 2>/dev/null
  if [ -n "$CONTAINERS" ]; then
    find /sys/fs/cgroup -depth -type d \( -path "*$CONTAINERS" -o -path "*$CONTAINERS/*" \) | while read -r log; do
      empty "$log"
    done
  fi
  if ! python tests/costs.py $LOGS/layers.jsonl $LOGS/pace && [ "$*" = all ] && [ "$code" = 0 ]; then
    code=1 word=NOT\ all
  fi
  echo "$word passed in $SECONDS s; what each layer, and each folder of tests, cost:"
  sed 's/^/  /' "$MILLRACE_TEST_COSTS"
  for log in "${shown[@]}"; do
    ! grep -q ': FAILED' "$log.costs" || { echo "=== the end of $log:" && tail -n 40 "$log"; }
  done
  sed -n 's/^\([^ ].*: FAILED.*\)/=== \1/p' "$MILLRACE_TEST_COSTS"
  exit "$code"
}

lanes=() logs=() shown=() scenarios=() labs='' ends=INT failed=0 pace=''
# Where this shell ignores Ctrl-C (`make test &` in a script), so does all that it starts. 2: the bit of SIGINT.
(((0x$(sed -n 's/^SigIgn:\t//p' /proc/$$/status) & 2) == 0)) || ends=TERM
for layer in "${@:-none}"; do
  case $layer in
    lint | unit | render | spark | bench-jobs) ;;
    all | quick | lab | survival) labs=yes ;;
    molecule) labs=yes scenarios=(datacenter) ;;
    *) [ "${1:-}" = molecule ] || {
      echo "run.sh: no layer $layer; there are: all lint unit render spark quick lab survival molecule bench-jobs" >&2
      exit 2
    } ;;
  esac
done
if [ "${1:-}" = molecule ] && [ $# -gt 1 ]; then
  scenarios=("${@:2}")
  set -- molecule
fi
for scenario in "${scenarios[@]}"; do
  [[ "$scenario" =~ ^[a-z0-9_]+$ && -e molecule/$scenario/molecule.yml ]] || {
    echo "run.sh: no scenario '$scenario'; there are: $(cd molecule && dirname -- */molecule.yml | tr '\n' ' ')" >&2
    exit 2
  }
done
[[ $# = 1 || " $* " != *" all "* ]] || {
  echo "run.sh: all is every layer, and stands alone" >&2
  exit 2
}
# Of a part of the campaign, which has the lock; without the open file this is a run of its own.
[ "/proc/$$/fd/${MILLRACE_TESTS_LOCK:-none}" -ef .build/tests.lock ] || unset MILLRACE_TESTS_LOCK
if [ -z "${MILLRACE_TESTS_LOCK:-}" ]; then
  mkdir -p .build
  exec 4<>.build/tests.lock   # kept open by this shell, its lanes and their commands: who of them lives, has the lock
  python tests/checkout_lock.py $$ "tests/run.sh $*" <&4 || exit
fi
mkdir -p "$LOGS"
rm -f $LOGS/*.costs $LOGS/layers.jsonl $LOGS/pace
: >"$MILLRACE_TEST_COSTS"
exec 3>&1
trap 'finish "$@"' EXIT
on_signals
sweep
python tests/costs.py pace $LOGS/pace </dev/null >/dev/null 2>&1 3>&- 4>&- &
pace=$!
# Control groups for the containers of each lane: where podman makes them as root and by itself, they can be counted.
if [ -n "$labs" ] && [ "$(id -u)" = 0 ] &&
  [ "$(podman info -f '{{.Host.CgroupManager}}' 2>/dev/null)" = cgroupfs ]; then
  CONTAINERS=/millrace-labs-$$
fi
if [ "$*" = all ]; then
  together unit   # by itself: its bounds are of seconds, and beside clusters they are starved
  together "aside render lint" "survival lab spark" "site quiet timed"
  [ "$failed" = 0 ]
else
  alone "$@"
fi
