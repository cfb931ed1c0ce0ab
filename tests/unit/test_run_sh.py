"""tests/run.sh itself, in a checkout whose tools are pretended: what is said when a layer fails, what a signal ends."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Each tool of the layers: notes its call, then does what the test says of it.
TOOL = """#!/bin/bash
name=$(basename "$0")
echo "$name $*" >>"$NOTES"
source "$DOES"
"""
JOBS = ".build/venv-spark/lib/python3.11/site-packages"
DEFAULT = "--default-signal=HUP,INT,TERM,USR1"  # whatever the shell of these tests ignores: nohup, a script's &
QUIET = f"""case "$name $*" in
  "python lab/derive.py"*) echo /inventory ;;
  "python tests/checkout_lock.py"*) exec {sys.executable} "$@" ;;
esac
"""
# What an interrupted pytest does: it removes its labs, and ends with 2. It notes when its trap is set.
WAITS = """trap 'sleep 1; echo "$name $* removed its lab" >>"$NOTES"; exit 2' INT
echo "$name $* waits" >>"$NOTES"
sleep 300 & wait
"""
# Steps of the layers site and timed, and what removes labs in the end.
CREATES = "ansible-playbook -i /inventory lab/create.yml molecule/datacenter/issuer.yml"
TESTS_SITE = "pytest -m not campaign and not timed --inventory /inventory tests/infra"
TESTS_TIMED = "pytest -m timed and not campaign --inventory /inventory tests/infra"
REMOVES = (
    "python lab/down.py .lab/tests .lab/survival_lab_stretch2 .lab/survival_lab_stretch2_5 "
    ".lab/survival_lab_stretch3 molecule/datacenter/inventory"
)


class Checkout:
    """A copy of run.sh among pretended tools."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.notes, self.does = folder, folder / "notes", folder / "does"
        for name in ("tests", "packaging", "lab", "molecule/datacenter", ".build/venv-spark/bin", JOBS, ".venv/bin"):
            (folder / name).mkdir(parents=True)
        for name in ("run.sh", "checkout_lock.py"):
            shutil.copy(ROOT / "tests" / name, folder / "tests")
        lints = ("yamllint", "ruff", "mypy", "shellcheck", "ansible-lint")
        for name in (*lints, "pytest", "python", "molecule", "ansible-playbook", "make"):
            self._tool(f".venv/bin/{name}")
        for name in ("packaging/build.sh", ".build/venv-spark/bin/python"):
            self._tool(name)
        for name in ("requirements.lock", "notes", ".sha512", "molecule/datacenter/molecule.yml"):
            (folder / name).touch()
        empty = subprocess.run(["sha256sum"], input="", capture_output=True, text=True, check=True).stdout
        (folder / ".build/venv-spark/.key").write_text(empty)

    def _tool(self, name: str) -> None:
        (self.folder / name).write_text(TOOL)
        (self.folder / name).chmod(0o755)

    def begin(self, *layers: str, does: str = "", before: str = "") -> subprocess.Popen[str]:
        """Start run.sh; `does` is what tools do but for their notes, `before` what the shell does that starts it."""
        self.does.write_text(QUIET + does)
        return subprocess.Popen(
            ["env", DEFAULT, "bash", "-c", f'{before}exec "$@"', "bash", self.folder / "tests" / "run.sh", *layers],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "NOTES": str(self.notes), "DOES": str(self.does)},
        )

    def run(self, *layers: str, does: str = "", before: str = "") -> tuple[int, str]:
        """Run it to its end; return its code and output."""
        process = self.begin(*layers, does=does, before=before)
        output, _ = process.communicate(timeout=240)
        return process.returncode, output

    def called(self) -> list[str]:
        calls = self.notes.read_text().splitlines()
        own = ("python tests/checkout_lock.py", "python tests/costs.py")
        return [call for call in calls if not call.startswith(own)]

    def until_called(self, *calls: str) -> None:
        deadline = time.monotonic() + 120
        while not all(any(call in note for note in self.called()) for call in calls):
            assert time.monotonic() < deadline, self.called()
            time.sleep(0.05)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_layers_that_ci_leaves_out_are_named_and_not_run(checkout: Checkout) -> None:
    """Of `all` alone, and not of a run of one layer."""
    leave = 'export LEFT_OUT="spark lab unit site"; '  # the last two are none of CI's, and are run
    code, output = checkout.run("all", before=leave)
    assert code == 0, output
    assert all(f"{layer}: LEFT OUT" in output for layer in ("spark", "lab"))
    assert not [call for call in checkout.called() if call.startswith(("pytest tests/lab", "pytest tests/spark"))]
    assert [call for call in checkout.called() if call.startswith("pytest tests/survival")]
    assert [call for call in checkout.called() if call.startswith("pytest -n")]
    code, output = checkout.run("lab", before=leave)
    assert code == 0 and "LEFT OUT" not in output
    assert [call for call in checkout.called() if call.startswith("pytest tests/lab")]


def test_options_of_the_caller_reach_one_layer_and_not_all(checkout: Checkout) -> None:
    """The campaign chooses its kills by them; in a run of all they would leave out tests."""
    with_options = 'export PYTEST_ADDOPTS="-m campaign"; '
    does = 'case "$name $*" in *pytest*) [ -z "${PYTEST_ADDOPTS:-}" ] || exit 1 ;; esac\nexit 0\n'
    code, output = checkout.run("spark", before=with_options, does=does)
    assert code == 1, output
    code, output = checkout.run("all", before=with_options, does=does)
    assert code == 0, output


def test_all_layers_pass_and_what_each_cost_is_said(checkout: Checkout) -> None:
    computes = "(ulimit -t 1; while :; do :; done) || true"  # killed when it has computed for a second
    code, output = checkout.run("all", does=f'case "$name $*" in "pytest tests/render") {computes} ;; esac\nexit 0\n')
    assert code == 0, output
    layers = ("lint", "unit", "render", "spark", "lab", "survival", "site", "timed")
    costs = output.partition("all passed in ")[2].splitlines()[1:]
    assert sorted(re.findall(r"^  (\w+): \d+ s \(\d+ s of CPU\)$", "\n".join(costs), re.MULTILINE)) == sorted(layers)
    assert re.search(r"^  render: \d+ s \([1-9]\d* s of CPU\)$", "\n".join(costs), re.MULTILINE), costs
    called = checkout.called()
    steps = (CREATES, "make --no-print-directory lab i=../molecule/datacenter/inventory", TESTS_SITE, TESTS_TIMED)
    assert sorted(steps, key=lambda step: [call.startswith(step) for call in called].index(True)) == [*steps]
    removed = "python lab/down.py molecule/datacenter/inventory"
    assert called.index(removed) < len(called) - 1 - called[::-1].index(removed), (
        "before the lab is made, and in the end"
    )


GROUPS = Path("/sys/fs/cgroup/cpuacct")
COUNTS = os.geteuid() == 0 and GROUPS.exists() and not (GROUPS / "cpu.shares").exists()


@pytest.mark.skipif(not COUNTS, reason="a control group counts CPU time for root, with cgroup v1")
def test_a_process_that_nobody_waits_for_is_counted(checkout: Checkout) -> None:
    """As the JVM that a test of Spark leaves to itself."""
    computes = "(ulimit -t 1; while :; do :; done); touch $NOTES.done"
    alone = f"setsid --fork bash -c '{computes}' 2>/dev/null; until [ -e $NOTES.done ]; do sleep 0.1; done"
    code, output = checkout.run("render", does=f'case "$name $*" in "pytest tests/render") {alone} ;; esac\nexit 0\n')
    assert code == 0, output
    assert re.search(r"^  render: \d+ s \([1-9]\d* s of CPU\)$", output, re.MULTILINE), output


@pytest.mark.skipif(not COUNTS, reason="control groups are made by root, with cgroup v1")
def test_control_groups_of_killed_runs_are_removed_and_those_of_living_ones_stay(checkout: Checkout) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = [GROUPS / f"millrace-{name}" for name in (f"lane-{ended.pid}-7", f"labs-{ended.pid}/site-7")]
    lives = GROUPS / f"millrace-lane-{os.getpid()}-7"
    try:
        for group in (*left, lives):
            group.mkdir(parents=True)
        assert checkout.run("render")[0] == 0
        assert not left[0].exists() and not left[1].parent.exists() and lives.exists()
    finally:
        for group in (*left, left[1].parent, lives):
            if group.exists():
                group.rmdir()


@pytest.mark.parametrize("status", [0, 1])
def test_unit_tests_have_the_machine_to_themselves(checkout: Checkout, status: int) -> None:
    """And the others are run though they fail."""
    does = f'case "$*" in "-n "*) sleep 1; echo ended >>"$NOTES"; exit {status} ;; esac\n'
    code, output = checkout.run("all", does=does)
    assert code == status, output
    first, _, rest = "\n".join(checkout.called()).partition("\nended\n")
    assert re.fullmatch(r"pytest -n \d+ .* tests/unit tests/model", first)
    assert "pytest tests/survival" in rest and "ansible-lint" in rest and TESTS_SITE in rest
    assert ("unit: FAILED" in output.splitlines()[-1]) == bool(status)


def test_timed_tests_wait_for_the_other_clusters_and_outrank_what_computes(checkout: Checkout) -> None:
    does = """case "$name $*" in
      "pytest tests/survival") until grep -q "tests/render nice" "$NOTES"; do sleep 0.1; done; sleep 1 ;;
      "pytest tests/render") echo "tests/render nice $(nice)" >>"$NOTES"
        until grep -q "timed nice" "$NOTES"; do sleep 0.1; done; echo "tests/render nice $(nice)" >>"$NOTES" ;;
      "pytest -m timed and not campaign "*) echo "timed nice $(nice)" >>"$NOTES" ;;
    esac
    [ "$name $1" != "pytest tests/survival" ] || echo survival ended >>"$NOTES"
    [ "$name $*" != "python -m pytest tests/spark" ] || { sleep 1; echo spark ended >>"$NOTES"; }
    """
    code, output = checkout.run("all", does=does)
    assert code == 0, output
    own = int(subprocess.run(["nice"], capture_output=True, text=True, check=True).stdout)
    seen = [call for call in checkout.called() if "nice" in call or call.endswith(" ended")]
    assert seen == [
        "tests/render nice 10",
        "survival ended",
        "spark ended",
        f"timed nice {own}",
        "tests/render nice 19",
    ]
    assert [call for call in checkout.called() if "ansible-lint" in call], "the rest goes on"


def test_what_computes_only_leaves_the_processors_to_containers(checkout: Checkout) -> None:
    """Its lane is a control group of little weight where root may make one; the others stay where they were."""
    group = r"sed -nE 's/^[0-9]*:([^:]*,)?cpu(,[^:]*)?://p' /proc/self/cgroup"
    does = f"""weight() {{ cat "/sys/fs/cgroup/cpu$({group})/cpu.shares" 2>/dev/null; }}
    case "$name $*" in
      "pytest tests/render") echo "aside $(weight)" >>"$NOTES"
        until grep -q "^timed" "$NOTES"; do sleep 0.1; done; echo "timed aside $(weight)" >>"$NOTES" ;;
      "pytest tests/survival") echo "beside $({group})" >>"$NOTES"
        until grep -q "^aside" "$NOTES"; do sleep 0.1; done ;;
      "pytest -m timed and not campaign "*) echo timed >>"$NOTES" ;;
    esac
    """
    process = checkout.begin("all", does=does)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    seen = {call for call in checkout.called() if "aside " in call or "beside " in call}
    own = subprocess.run(["bash", "-c", group], capture_output=True, text=True, check=True).stdout.strip()
    weights = ("200", "100") if Path("/sys/fs/cgroup/cpu/tasks").exists() and os.geteuid() == 0 else ("", "")
    wanted = (f"aside {weights[0]}", f"timed aside {weights[1]}", f"beside {own}")
    assert {call.strip() for call in seen} == {line.strip() for line in wanted}
    assert not Path(f"/sys/fs/cgroup/cpu/millrace-tests-{process.pid}").exists(), "the group is gone with its run"


def test_a_failed_layer_is_named_at_once_and_in_the_end(checkout: Checkout) -> None:
    does = """case "$name $*" in
      "pytest tests/render") echo a wrong line; exit 1 ;;
      "pytest tests/survival") timeout 30 sh -c 'until [ -e "$NOTES.go" ]; do sleep 0.1; done' ;;
    esac
    """
    process = checkout.begin("all", does=does)
    assert process.stdout
    first = [""]
    while "render" not in first[-1]:
        first.append(process.stdout.readline())
        assert first[-1], first
    assert re.fullmatch(
        r"=== render: FAILED after \d+ s \(\d+ s of CPU\) \(log: \.build/logs/test-lane2\.log\)\n", first[-1]
    )
    assert process.poll() is None
    (checkout.folder / "notes.go").touch()
    rest, _ = process.communicate(timeout=240)
    assert process.returncode == 1
    costs, _, end = rest.partition("NOT all passed in ")[2].partition("=== the end of .build/logs/test-lane2.log:\n")
    assert re.search(r"^  survival: \d+ s \(\d+ s of CPU\)$", costs, re.MULTILINE) and re.search(
        "^  render: FAILED", costs, re.MULTILINE
    )
    assert "a wrong line\n" in end and re.search(r"\n=== render: FAILED after .*\n\Z", end)
    assert not [call for call in checkout.called() if "ansible-lint" in call], "the lane went on"
    assert checkout.called()[-1] == REMOVES


@pytest.mark.parametrize("sent", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_ends_all_lanes_before_the_datacenter_is_removed(checkout: Checkout, sent: signal.Signals) -> None:
    does = f'case "$name $*" in "pytest tests/render" | "pytest tests/survival" | *lab/create.yml*) {WAITS} ;; esac\n'
    process = checkout.begin("all", does=does)
    started = ("pytest tests/render", "pytest tests/survival", CREATES)
    checkout.until_called(*(f"{call} waits" for call in started))
    process.send_signal(sent)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 128 + sent, output
    called = checkout.called()
    ended = [called.index(f"{call} removed its lab") for call in started]
    assert max(ended) < called.index(REMOVES)
    assert called[-1] == REMOVES
    assert not [call for call in called if "converge" in call or "ansible-lint" in call], "a lane went on"
    assert re.search(r"^  survival: interrupted after \d+ s \(\d+ s of CPU\)$", output, re.MULTILINE)


def test_what_nobody_reads_any_more_is_removed_all_the_same(checkout: Checkout) -> None:
    """`make test | tee log` and Ctrl-C: tee is gone before anything is said."""
    process = checkout.begin("all", does=f'case "$name $*" in *lab/create.yml*) {WAITS} ;; esac\n')
    checkout.until_called(f"{CREATES} waits")
    assert process.stdout
    process.stdout.close()
    process.send_signal(signal.SIGINT)
    assert process.wait(240) == 130
    assert [call for call in checkout.called() if call in (REMOVES, f"{CREATES} removed its lab")]
    assert checkout.called()[-1] == REMOVES


def test_lanes_that_ignore_ctrl_c_are_ended_otherwise(checkout: Checkout) -> None:
    """As `make test &` of a script starts it."""
    does = 'case "$name $*" in "pytest tests/render" | *lab/create.yml*) sleep 900 ;; esac\n'
    process = checkout.begin("all", does=does, before="trap '' INT; ")
    checkout.until_called("pytest tests/render", CREATES)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=240)
    assert process.returncode == 143
    assert not [call for call in checkout.called() if "converge" in call or "ansible-lint" in call]


def test_a_lane_that_was_killed_keeps_nobody_waiting(checkout: Checkout) -> None:
    """Timed tests wait for survival's end, which nobody says then."""
    does = """case "$name $*" in "pytest tests/survival") kill -9 -- -$(ps -o pgid= $$ | tr -d ' ') ;; esac\n"""
    code, output = checkout.run("all", does=does)
    assert code == 1, output
    assert [call for call in checkout.called() if call.startswith(TESTS_TIMED)]


def test_a_signal_reaches_a_single_layer_too(checkout: Checkout) -> None:
    process = checkout.begin("render", does=f'case "$name $*" in "pytest tests/render") {WAITS} ;; esac\n')
    checkout.until_called("pytest tests/render waits")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 143, output
    assert checkout.called()[1:] == ["pytest tests/render waits", "pytest tests/render removed its lab"]


def test_an_unknown_layer_is_refused_before_any_runs(checkout: Checkout) -> None:
    code, output = checkout.run("unit", "rendre")
    assert (code, checkout.called()) == (2, []) and "no layer rendre; there are: all lint" in output


@pytest.mark.parametrize("scenario", ["nosuch", "../../x", ""])
def test_an_unknown_scenario_is_refused(checkout: Checkout, scenario: str) -> None:
    code, output = checkout.run("molecule", scenario)
    assert (code, checkout.called()) == (2, []) and f"no scenario '{scenario}'; there are: datacenter" in output


def test_all_stands_alone(checkout: Checkout) -> None:
    code, output = checkout.run("all", "unit")
    assert (code, checkout.called()) == (2, []) and "all is every layer" in output


def test_the_bench_of_jobs_has_their_environment_and_no_tests(checkout: Checkout) -> None:
    code, output = checkout.run("bench-jobs")
    called = checkout.called()
    assert code == 0 and re.search(r"^  bench-jobs: \d+ s", output, re.MULTILINE), output
    assert [call for call in called if "--force-reinstall" in call] and called[-1] == "python tests/bench_jobs.py"
    assert not [call for call in called if "pytest" in call or "mypy" in call]


def test_the_jobs_environment_is_made_anew_for_another_python(checkout: Checkout) -> None:
    """Also for another of the same version: it may lack what the first one had, or be gone itself."""
    (checkout.folder / "house").mkdir()
    subprocess.run(["tar", "-cf", "house.tar", "house"], cwd=checkout.folder, check=True)
    (checkout.folder / "house.tar.sha512").touch()
    does = """case "$name $*" in
      "build.sh --list wheelhouse") echo house.tar ;;
      "python -c import os, sys; print(sys.version, "*) echo "$VERSION" ;;
      "python -m venv "*) mkdir -p "$3/bin" "$3/lib/python3/site-packages" && cp "$0" "$3/bin/python" ;;
    esac
    """
    made = []
    for python in (
        "3.11.2 /usr/bin/python3.11",
        "3.11.2 /usr/bin/python3.11",
        "3.11.2 /opt/python",
        "3.13.5 /opt/python",
    ):
        code, output = checkout.run("spark", does=f"VERSION='{python}'\n{does}")
        assert code == 0, output
        made.append(checkout.called().count("python -m venv .build/venv-spark"))
    assert made == [1, 1, 2, 3]
