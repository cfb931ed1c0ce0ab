"""The parts of the campaign: what is long and new goes here, a function, and its line in CONTRIBUTING.md."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from campaign_run import SEEN, Campaign, PartError, prepared
from elsewhere.repository import Repository
from faults.inventory import ROOT
from operations.older import OLDER, PINNED
from operations.older import archives as older_archives
from survival.stretched import prepared_image

TEXT = "/usr/share/common-licenses"
ALL = "1000"
"""More servers and pairs than a layout has."""


def pairs(campaign: Campaign) -> None:
    """Every server, datacenter and pair of servers of lab_stretch2 and lab_stretch3 is killed: quorum and writes."""
    campaign.survival("lab_stretch2,lab_stretch3", "--survival-each", ALL, tests=("test_survival.py",))


def stretch2_5(campaign: Campaign) -> None:
    """The whole table of lab_stretch2_5, a witness in a third place, and its failovers."""
    campaign.survival("lab_stretch2_5", "--survival-each", ALL)


def cuts(campaign: Campaign) -> None:
    """Each datacenter is cut off, both ways and in one direction; both networks go everywhere, one after the other."""
    campaign.survival("lab_stretch2,lab_stretch3", tests=("test_cuts.py",))


def losses(campaign: Campaign) -> None:
    """The column `zero loss`: servers, datacenters and some pairs never come back, their disks wiped.

    The ISR had shrunk before, as far as it may.
    """
    campaign.survival("lab_stretch2,lab_stretch3", tests=("test_losses.py",))


def failovers(campaign: Campaign) -> None:
    """Ten failovers and failbacks of lab_stretch2 under load, datacenters and kills alternate; runs that are killed."""
    campaign.survival("lab_stretch2", tests=("test_failover.py", "test_failover_order.py"))


def split_brain(campaign: Campaign) -> None:
    """Both datacenters of lab_stretch2 take over, each from a control node of its own: what the record prevents."""
    campaign.survival("lab_stretch2", tests=("test_split_brain.py",))


def distance(campaign: Campaign) -> None:
    """The datacenters of lab_stretch2 are 2, 20 and 100 ms apart: what that costs, and where consumers read."""
    campaign.survival("lab_stretch2", tests=("test_distance.py",))


def datacenters(campaign: Campaign) -> None:
    """Rows of the fault matrix that need several datacenters: cuts, poor links, the loss of a datacenter."""
    for layout in ("lab_stretch2", "lab_stretch2_5", "lab_stretch3"):  # one at a time: pauses are measured
        campaign.survival(layout, tests=("test_matrix.py",))


def mirrored(campaign: Campaign) -> None:
    """The two clusters of lab_mirrored: both directions with kills, switches, losses, borders, standby jobs, speed."""
    names = ("mirrored", "border", "standby_job", "throughput")
    _family(campaign, "lab_mirrored", *(f"test_{name}.py" for name in names))


def aggregated(campaign: Campaign) -> None:
    """The three clusters of lab_aggregated: one holds the topics of two others, with equal sums."""
    _family(campaign, "lab_aggregated", "test_aggregated.py")


def _family(campaign: Campaign, family: str, *tests: str) -> None:
    """Run tests of tests/mirrored on the clusters of a family, made as people make them."""
    if there := sorted((ROOT / ".lab").glob(f"{family}_*")):
        raise PartError(f"{there[0]} is a lab of yours: remove it first (make lab-down i={family})")
    record = ("--mirrored-record", f"{SEEN}/mirrors.json")
    try:
        campaign.run("make", "lab", f"i={family}")
        campaign.run("pytest", *(f"tests/mirrored/{name}" for name in tests), "-m", "campaign", *record)
    finally:
        campaign.run("make", "lab-down", f"i={family}")
        campaign.run("make", "docs", "PAGES=mirrors")


def rotation(campaign: Campaign) -> None:
    """The chain of CAs under load."""
    with campaign.lab("rotation", *prepared()) as inventory:
        campaign.run("pytest", "tests/rotation", "-m", "campaign", "--inventory", inventory)


def fencing(campaign: Campaign) -> None:
    """Leaders are killed, frozen, and not wholly gone: whose registration is removed, and how long writes wait.

    100 of each at sessions of 18 s, Kafka's own default: then what is below a few seconds is not the session's end.
    """
    with campaign.lab("fencing", *prepared()) as inventory:
        options = ("-m", "campaign", "--faults-seed", str(campaign.seed), "--inventory", inventory)
        own = (f"--ignore=tests/faults/test_{name}.py" for name in ("kills", "matrix", "fencing", "spark_cluster"))
        campaign.run("pytest", "tests/faults", *own, *options)
        sessions = {"kafka_config_overrides": {"zookeeper.session.timeout.ms": 18000}}
        campaign.play(inventory, "playbooks/site.yml", "-e", json.dumps(sessions))
        campaign.run("pytest", "tests/faults/test_fencing.py", *options)


def faults(campaign: Campaign) -> None:
    """The fault matrix twice: nothing is lost, and what each fault took goes to docs/reliability.md."""
    with campaign.lab("faults", *prepared()) as inventory:
        (ROOT / SEEN / "faults.json").unlink(missing_ok=True)  # what was seen before stays where there is no lab
        try:
            for _ in range(2):
                tests = ("tests/faults/test_matrix.py", "-m", "campaign", "--faults-record", f"{SEEN}/faults.json")
                campaign.run("pytest", *tests, "--inventory", inventory)
        finally:
            campaign.run("make", "docs", "PAGES=reliability")


def kills(campaign: Campaign) -> None:
    """Rounds of kills, freezes, power-offs and cuts that the seed chooses, under load: nothing is lost or doubled."""
    with campaign.lab("kills", *prepared()) as inventory:
        seed = ("--faults-seed", str(campaign.seed), "--faults-rounds", "30")
        campaign.run("pytest", "-s", "tests/faults/test_kills.py", "-m", "campaign", *seed, "--inventory", inventory)


def cures(campaign: Campaign) -> None:
    """Wrong inventories on running servers, and what mends them; a planned outage; what else a playbook puts right."""
    archives: dict[str, Any] = {"kafka_class_data_archive": True, "spark_job_class_data_archive": True}
    with campaign.lab("cures", *prepared(), **archives) as inventory:
        campaign.run("pytest", "tests/operations/test_unchanged.py", "tests/infra", "--inventory", inventory)
        names = ("cures", "through_the_gate", "class_data", "firewall")
        campaign.run(
            "pytest",
            *(f"tests/operations/test_{name}.py" for name in names),
            "-m",
            "campaign",
            "--inventory",
            inventory,
        )


def resources(campaign: Campaign) -> None:
    """What others did to a cluster by hand, settings of running brokers, a cluster without a quorum, the page."""
    with campaign.lab("by-hand", *prepared()) as inventory:
        tests = (f"tests/operations/test_{name}.py" for name in ("live_settings", "resources_by_hand", "page"))
        campaign.run("pytest", *tests, "-m", "campaign", "--inventory", inventory)


def alerts(campaign: Campaign) -> None:
    """Each alert of the monitoring host is fired by a real fault; before, none fires for ten minutes."""
    with campaign.lab("alerts", source="lab_monitoring") as inventory:
        try:
            campaign.run("pytest", "tests/security/test_negative.py", "-k", "metrics", "--inventory", inventory)
            tests = (f"tests/operations/test_{name}.py" for name in ("monitoring", "alerts", "metric_alerts"))
            record = ("--alerts-record", f"{SEEN}/alerts.json")
            campaign.run("pytest", *tests, "-m", "", *record, "--inventory", inventory)
        finally:
            campaign.run("make", "docs", "PAGES=monitoring")


def moves(campaign: Campaign) -> None:
    """Replicas move under load: the control node is killed in the middle, the run gone on with, or put back.

    Brokers have the optimising compiler, as in production: what a move costs producers is measured as well. The image
    stands in the inventory, for tests make hosts.
    """
    image = prepared_image("kafka", "zookeeper", "spark")
    with campaign.lab("moves", lab_image=image, kafka_java_options=[]) as inventory:
        names = ["reassign", "move_costs", "growth", "rebalance_timer", "replace_disk", "replace_server"]
        names.append("replace_broker")  # the last, for it leaves disks of which one holds more than the other
        tests = (f"tests/operations/test_{name}.py" for name in names)
        campaign.run("pytest", *tests, "-m", "campaign", "--inventory", inventory)


def roll(campaign: Campaign) -> None:
    """All brokers are restarted under 2,000 messages a second: by restart.yml, by a bare script, by one that sleeps."""
    with campaign.lab("roll", *prepared()) as inventory:
        campaign.run("pytest", "tests/operations/test_roll.py", "-m", "campaign", "--inventory", inventory)


def upgrade(campaign: Campaign) -> None:
    """Kafka and ZooKeeper of older versions are upgraded under load, take the protocol step, and are rolled back."""
    with TemporaryDirectory() as folder:
        older: dict[str, Any] = {f"{product}_version": version for product, version in OLDER.items()}
        older |= {"accept_risks": [f"{product.upper()}_VERSION" for product in OLDER], "kafka_config_overrides": PINNED}
        with campaign.lab("upgrade", archives=str(older_archives(Path(folder))), **older) as inventory:
            tests = ("pytest", "tests/operations/test_upgrade.py", "-m", "campaign")
            campaign.run(*tests, "--inventory", inventory)


def debian13(campaign: Campaign) -> None:
    """Hosts of Debian 13: converged, healthy, tested, and their job counts the words of real text."""
    with campaign.lab("debian13", lab_release="trixie") as inventory:
        campaign.run("ansible-playbook", "-i", inventory, "playbooks/check.yml")
        campaign.run("pytest", "tests/infra", "--inventory", inventory)
        campaign.run("python", "lab/wordcount.py", "--lab", ".lab/campaign", "--text", TEXT)


def one_network(campaign: Campaign) -> None:
    """Hosts with one network: converged, healthy, tested, and a second run changes nothing."""
    with campaign.lab("one-network", *prepared(), source="lab_one_network") as inventory:
        campaign.run("pytest", "tests/operations/test_unchanged.py", "tests/infra", "--inventory", inventory)
        campaign.play(inventory, "playbooks/check.yml")
        campaign.run("python", "lab/wordcount.py", "--lab", ".lab/campaign", "--text", TEXT)


def spark_cluster(campaign: Campaign) -> None:
    """A job on a Spark cluster counts exactly: 20 kills of executors, workers, master and driver; who may connect."""
    with campaign.lab("spark-cluster", *prepared(), source="lab_spark_cluster") as inventory:
        campaign.run("pytest", "tests/operations/test_unchanged.py", "--inventory", inventory)
        options = ("-m", "campaign", "--faults-seed", str(campaign.seed), "--inventory", inventory)
        campaign.run("pytest", "tests/faults/test_spark_cluster.py", *options)


def orders(campaign: Campaign) -> None:
    """Orders are kept in PostgreSQL: equal to their events, also after changes of its settings; who is let in."""
    with campaign.lab("orders", source="lab_orders") as inventory:
        compare = ("python", "lab/orders.py", "--lab", ".lab/campaign")
        campaign.run(*compare)
        campaign.play(inventory, "playbooks/check.yml")
        campaign.run("pytest", "tests/infra", "--inventory", inventory)
        campaign.run("pytest", "tests/operations/test_database.py", "-m", "campaign", "--inventory", inventory)
        campaign.run(*compare)


def order_kills(campaign: Campaign) -> None:
    """50 kills of a job, of its database and its broker, which the seed chooses: the read model of orders is exact."""
    chosen = f"PYTEST_ADDOPTS=-s -m campaign -k 'kills or class_data' --kills-seed {campaign.seed}"
    campaign.run("env", chosen, "tests/run.sh", "spark")


def order_outages(campaign: Campaign) -> None:
    """Ten minutes without brokers, ten without a database: said once a minute, and the read model is exact."""
    campaign.run("env", "PYTEST_ADDOPTS=-s -m campaign -k outage", "tests/run.sh", "spark")


def types(campaign: Campaign) -> None:
    """Each variable and key of the model gets values of all types: a mistake to report, and never the check's end."""
    campaign.run("pytest", "-n", "auto", "tests/model", "-m", "campaign")


def render(campaign: Campaign) -> None:
    """Roles rendered for the inventories that make test leaves out, as they are like others."""
    campaign.run("pytest", "tests/render", "-m", "campaign")


def sudo(campaign: Campaign) -> None:
    """Hosts that nobody enters as root: a user with sudo, which asks for a password."""
    password = "{{ lookup('ansible.builtin.password', lab_directory ~ '/secrets/sudo', length=32) }}"
    login = ("tests/sudo_login.yml", "-e", "ansible_user=root")
    users = {"ansible_user": "operator", "ansible_become_password": password}
    with campaign.lab("sudo", *prepared(), before=login, **users) as inventory:
        refused = "2>&1 >/dev/null | tee /dev/stderr | grep -q 'Permission denied'"
        campaign.run("sh", "-c", f"ssh -F .lab/campaign/ssh_config -o BatchMode=yes root@dc1-zk1 true {refused}")
        campaign.play(inventory, "playbooks/check.yml")


def neighbours(campaign: Campaign) -> None:
    """Labs of several checkouts: at once, left behind, renamed, with a damaged claim, replaced, removed together."""
    campaign.run("pytest", "tests/lab", "-m", "campaign")


def elsewhere(campaign: Campaign) -> None:
    """A repository of a site's own: the collection, one inventory file, a vault, and no way to this checkout."""
    place = ROOT / ".lab" / "elsewhere"
    campaign.down(place.name)  # left behind by a run that was killed
    shutil.rmtree(place, ignore_errors=True)
    site = Repository(place, campaign.run)
    try:
        site.make()
        campaign.play(site.inventory, "lab/create.yml", *prepared())
        site.install()
        for playbook in ("preflight", "site", "check"):
            site.play(playbook)
    finally:
        campaign.down(place.name)
        shutil.rmtree(place, ignore_errors=True)


def bench_unchanged(campaign: Campaign) -> None:
    """What an unchanged site.yml costs, on a lab of its own."""
    with campaign.lab("bench", *prepared()) as inventory:
        campaign.run("python", "tests/bench_unchanged.py", "--inventory", inventory)


def bench_resources(campaign: Campaign) -> None:
    """What an unchanged run costs on 1,000 topics and 1,000 ACLs, on a lab of its own."""
    with campaign.lab("resources", *prepared()) as inventory:
        campaign.run("python", "tests/bench_resources.py", "--inventory", inventory)


def bench_jobs(campaign: Campaign) -> None:
    """What the Spark jobs cost against their rivals; writes its part of docs/performance.md."""
    campaign.run("tests/run.sh", "bench-jobs")


def bench_tls(campaign: Campaign) -> None:
    """What security costs; writes docs/performance.md."""
    campaign.run("python", "tests/bench_tls.py")


# In the order in which they are run.
PARTS: dict[str, Callable[[Campaign], None]] = {
    "pairs": pairs,
    "stretch2_5": stretch2_5,
    "cuts": cuts,
    "losses": losses,
    "failovers": failovers,
    "split-brain": split_brain,
    "distance": distance,
    "datacenters": datacenters,
    "mirrored": mirrored,
    "aggregated": aggregated,
    "rotation": rotation,
    "fencing": fencing,
    "faults": faults,
    "kills": kills,
    "cures": cures,
    "alerts": alerts,
    "moves": moves,
    "roll": roll,
    "upgrade": upgrade,
    "resources": resources,
    "debian13": debian13,
    "one-network": one_network,
    "spark-cluster": spark_cluster,
    "orders": orders,
    "order-kills": order_kills,
    "order-outages": order_outages,
    "types": types,
    "render": render,
    "sudo": sudo,
    "neighbours": neighbours,
    "elsewhere": elsewhere,
    "bench-unchanged": bench_unchanged,
    "bench-resources": bench_resources,
    "bench-tls": bench_tls,
    "bench-jobs": bench_jobs,
}
