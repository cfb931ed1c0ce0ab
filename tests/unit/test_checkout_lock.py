"""Two runs of tests in one checkout: the second says who is there, and does nothing; a killed one leaves no lock."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from unit.test_run_sh import ROOT, Checkout

BUSY = "another run of tests is there, so this one did nothing: "
# A pytest that runs until Ctrl-C, and then removes its labs. From its note on, it knows all orders.
WAITS = """case "$name $*" in "pytest tests/render")
  sleep 300 >/dev/null 2>&1 4>&- &   # without the lock's file: a command that ends is no holder for a moment
  trap 'kill $!; echo "$name $* removed its lab" >>"$NOTES"; exit 2' INT
  echo "$name $* waits" >>"$NOTES"; wait ;;
esac
"""
SINCE = r"since 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def there(checkout: Checkout) -> dict[str, bytes]:
    """Return what the files of a checkout hold, without those of its pretended tools."""
    own = (checkout.notes, checkout.does)
    return {str(path): path.read_bytes() for path in checkout.folder.rglob("*") if path.is_file() and path not in own}


def test_a_second_run_names_the_first_and_touches_nothing(checkout: Checkout) -> None:
    first = checkout.begin("render", does=WAITS)
    checkout.until_called("pytest tests/render waits")
    called, before = checkout.called(), there(checkout)
    code, output = checkout.run("unit", "lint")
    who = rf"tests/run\.sh render, pid {first.pid}, {SINCE} in {checkout.folder}"
    said = rf"tests/run\.sh unit lint: {BUSY}{who}\. Wait for its end, or end it, .*: kill {first.pid}\n"
    assert code == 2 and re.fullmatch(said, output), output
    assert checkout.called() == called and there(checkout) == before
    first.terminate()
    first.communicate(timeout=60)
    assert checkout.run("render")[0] == 0


def test_a_part_of_the_campaign_has_its_lock(checkout: Checkout) -> None:
    first = checkout.begin("render", does=WAITS)
    checkout.until_called("pytest tests/render waits")
    held = f"exec 9<>{checkout.folder}/.build/tests.lock; export MILLRACE_TESTS_LOCK=9; "
    code, output = checkout.run("lint", before=held)
    assert code == 0, output
    code, output = checkout.run("lint", before="export MILLRACE_TESTS_LOCK=9; ")
    assert code == 2 and BUSY in output, "the variable alone is no lock"
    first.terminate()
    first.communicate(timeout=60)


def test_a_process_that_reads_the_file_is_not_named_as_a_holder(checkout: Checkout) -> None:
    first = checkout.begin("render", does=WAITS)
    checkout.until_called("pytest tests/render waits")
    with (checkout.folder / ".build" / "tests.lock").open() as file:
        reader = subprocess.Popen(["sleep", "60"], stdin=file)
    try:
        first.send_signal(signal.SIGKILL)
        first.wait(60)
        code, output = checkout.run("lint")
        holders = output.rpartition("kill -INT")[2].split()
        assert code == 2 and holders and str(reader.pid) not in holders, output
        subprocess.run(["kill", "-INT", *holders], check=True)
    finally:
        reader.kill()
        reader.wait(60)
    first.communicate(timeout=60)


def test_of_a_killed_run_what_goes_on_has_the_lock_until_it_ends(checkout: Checkout) -> None:
    killed = checkout.begin("render", does=WAITS)
    checkout.until_called("pytest tests/render waits")
    killed.send_signal(signal.SIGKILL)
    killed.wait(60)
    code, output = checkout.run("lint")
    found = re.fullmatch(
        rf"tests/run\.sh lint: {BUSY}tests/run\.sh render, pid {killed.pid}, {SINCE} in \S+, was killed, and commands "
        r"of it go on with its labs: [\d ]+\. Wait .* or end them, which removes these labs: (kill -INT [\d ]+)\n",
        output,
    )
    assert code == 2 and found, output
    subprocess.run(["bash", "-c", found[1]], check=True)
    killed.communicate(timeout=60)
    assert "pytest tests/render removed its lab" in checkout.called()
    assert checkout.run("lint")[0] == 0


def test_what_commands_leave_running_does_not_have_the_lock(checkout: Checkout) -> None:
    """As podman's monitors of containers, and ssh."""
    leaves = f"""exec {sys.executable} -c 'import subprocess; print(subprocess.Popen(
      ["sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)'"""
    code, output = checkout.run("render", does=f'case "$name $*" in "pytest tests/render") {leaves} ;; esac\n')
    left = int(output.splitlines()[1])
    try:
        assert code == 0 and Path(f"/proc/{left}").exists(), output
        assert checkout.run("lint")[0] == 0
    finally:
        os.kill(left, signal.SIGKILL)


def test_make_asks_before_it_sets_anything_up(checkout: Checkout) -> None:
    """A set-up would make the environment anew in which the first one runs; lab/up.py is not there to do it."""
    shutil.copy(ROOT / "Makefile", checkout.folder)
    (checkout.folder / "campaign.py").write_text(
        "import sys; sys.path.insert(0, 'tests'); import checkout_lock\n"
        "with checkout_lock.only_run('make campaign'): print('has it', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "campaign.py"], cwd=checkout.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout and first.stdout.readline() == "has it\n"
        for verb in ("test", "campaign"):
            done = subprocess.run(
                ["make", "-s", verb, f"PYTHON={sys.executable}"], cwd=checkout.folder, capture_output=True, text=True
            )
            assert done.returncode == 2 and done.stderr.startswith(f"{BUSY}make campaign, pid {first.pid}, "), (
                done.stderr
            )
        code, output = checkout.run("lint")
        assert code == 2 and f"{BUSY}make campaign, pid {first.pid}, " in output
        first.communicate("end")
    assert checkout.run("lint")[0] == 0


def test_who_only_asks_leaves_nothing(checkout: Checkout) -> None:
    before = there(checkout)
    done = subprocess.run(
        [sys.executable, checkout.folder / "tests" / "checkout_lock.py"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "") and there(checkout) == before
