"""Labs of several checkouts on one machine: side by side, refused, left behind, replaced, removed."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import down
import pytest
from faults.inventory import ROOT
from millrace_lab.records import claim_file
from millrace_lab.shared_resources import Machine

from .small import CONTAINERS_CONF, ENVIRONMENT, SmallLab, said

pytestmark = pytest.mark.campaign
Make = Callable[[str, str, int], SmallLab]


def test_two_labs_live_side_by_side_and_each_is_removed_alone(first: SmallLab, make: Make) -> None:
    second = make("one", "test-second", first.network + 2)
    second.create()
    assert (len(first.containers()), len(second.containers())) == (2, 2)
    assert second.play("destroy").returncode == 0
    assert (len(first.containers()), len(second.containers())) == (2, 0)
    assert not second.directory.exists()
    assert first.run("broker", "hostname") == "broker\n"


def test_a_lab_on_the_networks_of_another_one_of_this_checkout_is_refused(first: SmallLab, make: Make) -> None:
    clash = make("one", "test-clash", first.network)
    assert f"lab test-first of this checkout holds 198.18.{first.network}.0/24" in said(clash.play("create"))
    asked = clash.derive()
    assert f"lab test-first of this checkout holds 198.18.{first.network}.0/24" in asked.communicate()[1]
    assert asked.returncode == 1
    assert len(first.containers()) == 2 and clash.containers() == set()


def test_a_living_lab_of_another_checkout_is_replaced_only_when_told(make: Make, network: int) -> None:
    other, mine = make("other", "test-living", network + 4), make("mine", "test-living", network + 4)
    other.create()
    there = other.containers()
    refused = mine.play("create")
    assert refused.returncode != 0
    assert f"the lab of {other.directory} holds 198.18.{network + 4}.0/24" in said(refused)
    assert "make lab-down i=test-living" in said(refused) and "-e lab_replace=true" in said(refused)
    assert other.containers() == there and mine.containers() == set()
    assert other.run("broker", "hostname") == "broker\n"
    mine.create("-e", "lab_replace=true")
    assert other.containers() == set()
    assert mine.run("broker", "hostname") == "broker\n"
    assert mine.play("destroy").returncode == 0


@pytest.mark.parametrize("checkout", ["left", "taken"])
def test_a_lab_whose_directory_is_gone_is_replaced(make: Make, checkout: str, network: int) -> None:
    """As after `git clean`: in the same checkout, or in another one."""
    left = make("left", f"test-{checkout}", network + 4)
    left.create()
    there = left.containers()
    shutil.rmtree(left.directory)
    taken = left if checkout == "left" else make(checkout, "test-taken-by", network + 4)
    taken.create()
    assert not there & left.containers()
    assert len(taken.containers()) == 2
    assert taken.run("broker", "hostname") == "broker\n"
    assert taken.play("destroy").returncode == 0


def test_the_lab_of_a_renamed_checkout_is_named_goes_on_and_is_removed(make: Make, network: int) -> None:
    before, after = (make(checkout, "test-renamed", network + 4) for checkout in ("before", "after"))
    before.create()
    there = before.containers()
    after.directory.parent.mkdir()
    before.directory.rename(after.directory)
    refused = after.play("create")
    assert refused.returncode != 0 and f"was made as {before.directory}, whose hosts stand" in said(refused)
    asked = after.derive()
    assert f"was made as {before.directory}" in asked.communicate()[1] and asked.returncode == 1
    assert before.containers() == there
    after.directory.rename(before.directory)
    assert before.create() == 0
    assert before.run("broker", "hostname") == "broker\n"
    before.directory.rename(after.directory)
    assert after.play("destroy").returncode == 0
    assert (before.containers(), before.networks()) == (set(), set()) and not after.directory.exists()


def test_a_lab_whose_claim_is_damaged_stays_where_it_is(make: Make, network: int) -> None:
    mine, other = (make(checkout, "test-damaged", network + 4) for checkout in ("damaged", "beside"))
    mine.create()
    there, claim = mine.containers(), claim_file(mine.directory)
    claim.write_text("{")
    for verb in ("create", "destroy"):
        refused = mine.play(verb)
        assert refused.returncode != 0 and f"{claim}, is damaged" in said(refused)
    assert Path(other.derive().communicate()[0].strip()) != other.inventory
    other.remove()
    assert mine.containers() == there
    claim.unlink()
    assert mine.create() == 0
    assert mine.run("broker", "hostname") == "broker\n"
    assert mine.play("destroy").returncode == 0


def test_two_checkouts_that_ask_at_once_get_networks_of_their_own_and_keep_them(make: Make, network: int) -> None:
    labs = [make(checkout, "test-same", network + 6) for checkout in ("a", "b")]
    asked = [lab.derive() for lab in labs]
    inventories = [Path(one.communicate()[0].strip()) for one in asked]
    kept = [inventory == lab.inventory for inventory, lab in zip(inventories, labs, strict=True)]
    assert sorted(kept) == [False, True]
    for lab, inventory in zip(labs, inventories, strict=True):
        lab.create(inventory=inventory)
        again = lab.derive()
        assert Path(again.communicate()[0].strip()) == inventory
        assert lab.create(inventory=inventory) == 0
        assert lab.run("node", f"timeout 60 bash -c 'head -c 4 < /dev/tcp/{broker(lab)}/22'") == "SSH-"
    one, two = labs
    assert broker(one) != broker(two)
    assert len(one.containers() | two.containers()) == 4
    moved = labs[kept.index(False)]
    assert moved.play("destroy").returncode == 0
    assert not moved.directory.exists() and not inventories[kept.index(False)].exists()
    assert len(labs[kept.index(True)].containers()) == 2


def broker(lab: SmallLab) -> str:
    """Return the broker's address on the client network."""
    return lab.run("broker", "ip -o -4 addr show client").split()[3].partition("/")[0]


def test_networks_stay_with_their_holder_while_its_lab_is_made_anew(make: Make, network: int) -> None:
    """Molecule destroys first what an earlier run may have left."""
    holding, other = make("holding", "test-held", network + 2), make("other", "test-held", network + 2)
    script = (
        f"{sys.executable} lab/derive.py {holding.inventory} --holder $$; "
        f"ansible-playbook -i {holding.inventory} lab/destroy.yml >&2; echo destroyed with $?; read end"
    )
    holder = subprocess.Popen(
        ["bash", "-c", script], cwd=ROOT, env=ENVIRONMENT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout
        assert holder.stdout.readline() == f"{holding.inventory}\n"
        assert holder.stdout.readline() == "destroyed with 0\n"
        assert not holding.directory.exists()
        assert Path(other.derive().communicate()[0].strip()) != other.inventory
        assert f"is in use by process {holder.pid}, so it was left as it is" in said(holding.play("destroy"))
        holder.communicate("end\n")
    other.remove()
    assert Path(other.derive().communicate()[0].strip()) == other.inventory
    other.remove()


def test_all_labs_of_a_checkout_and_orphans_are_removed_and_named(first: SmallLab, make: Make) -> None:
    mine, orphan = make("all", "test-mine", first.network + 2), make("gone", "test-orphan", first.network + 4)
    for lab in (mine, orphan):
        lab.create()
    shutil.rmtree(orphan.directory)
    there = mine.containers() | orphan.containers()
    machine = Machine(CONTAINERS_CONF)
    down.remove_all(machine, mine.directory.parent)
    named = "\n".join(machine.actions)
    assert len(there) == 4 and all(name in named for name in there)
    assert f"198.18.{first.network + 4}.0/24" in named and named.count("remove the disks") >= 2
    for lab in (mine, orphan):
        assert (lab.containers(), lab.networks()) == (set(), set())
        assert not lab.directory.exists()
    assert len(first.containers()) == 2
    assert first.run("broker", "hostname") == "broker\n"


def test_what_prepares_an_image_is_removed_and_hosts_of_that_image_stay(
    first: SmallLab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A lab in use must not lose its hosts to `make lab-down`, whatever image they are of."""
    machine = Machine(CONTAINERS_CONF)
    left, image, host = "millrace-prepare-0123456789ab", "localhost/test-prepared:1", "test-of-prepared-host"
    base = machine.run("podman", "inspect", "--format", "{{.Image}}", min(first.containers())).strip()
    with down.PREPARED.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # nobody prepares an image meanwhile, so nobody's container is taken
        monkeypatch.setattr(down, "PREPARED", tmp_path / "lock")
        try:
            machine.run("podman", "create", "--name", left, base)
            machine.run("podman", "commit", "--quiet", left, image)
            machine.run("podman", "create", "--name", host, image)
            down.remove_unprepared(machine)
            names = machine.run("podman", "ps", "-a", "--format", "{{.Names}}").split()
        finally:
            machine.run("podman", "rm", "-f", "--ignore", left, host)
            machine.run("podman", "image", "rm", "-f", image)
    assert left not in names and machine.actions == [f"remove container {left}"]
    assert host in names and first.containers() <= set(names)


def test_what_labs_share_is_changed_under_the_lock_alone() -> None:
    """So labs that are made and removed at once never take each other's route.

    On a machine of its own, as far as routes and podman go: other labs here would hide a route that is gone.
    """
    script = Path(__file__).with_name("locked.py")
    done = subprocess.run(
        ["unshare", "--net", "--mount", sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT / "lab")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout) == {
        "present": {"while the lock is held": [0, 0], "in the end": [1, 2]},
        "absent": {"while the lock is held": [1, 2], "in the end": [0, 0]},
    }
