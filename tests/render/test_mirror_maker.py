"""What the role mirror_maker gives a worker: its flow, its unit, and its passwords in one file alone. No hosts."""

from collections.abc import Callable

from render.conftest import Hosts
from render.site import properties

FOLDER = "/etc/mirror-maker"


WORKER = "west-spark1"
"""A worker of west, which copies from east."""


def test_passwords_are_in_one_file(rendered: Callable[[str], Hosts]) -> None:
    """Its name is in the other file, which MirrorMaker writes into a topic."""
    worker = rendered("lab_mirrored/west")[WORKER]
    secrets = properties(worker.secret(f"{FOLDER}/secrets.properties"))
    assert sorted(secrets) == ["east.sasl.jaas.config", "west.sasl.jaas.config"]
    passwords = [text.split('password="')[1].split('"')[0] for text in secrets.values()]
    others = [str(file["content"]) for file in worker.items("files") if not file["secret"]]
    main = worker.secret(f"{FOLDER}/mirror-maker.properties")
    assert all(len(password) == 32 for password in passwords)
    assert not [password for password in passwords for text in [main, *others] if password in text]
    assert (
        properties(main)["east.sasl.jaas.config"] == f"${{secrets:{FOLDER}/secrets.properties:east.sasl.jaas.config}}"
    )
    modes = {file["path"]: (file["group"], file["mode"]) for file in worker.items("files") if FOLDER in file["path"]}
    assert modes[f"{FOLDER}/secrets.properties"] == ("mirror-maker", "0640")


def test_the_flow(rendered: Callable[[str], Hosts]) -> None:
    """Workers send each other requests; without those, two of them can copy nothing."""
    worker = rendered("lab_mirrored/west")[WORKER]
    found = properties(worker.secret(f"{FOLDER}/mirror-maker.properties"))
    expected = {
        "clusters": "west,east",
        "dedicated.mode.enable.internal.rest": "true",
        "listeners": "http://198.18.57.31:8083",
        "east.bootstrap.servers": "198.18.59.21:9092,198.18.59.22:9092,198.18.59.23:9092",
        "east.security.protocol": "SASL_SSL",
        "west.exactly.once.source.support": "enabled",
        "west.scheduled.rebalance.max.delay.ms": "5000",
        "east->west.enabled": "true",
        "east->west.topics": "streams-.*",
        "east->west.sync.group.offsets.interval.seconds": "5",
        "east->west.sync.topic.configs.interval.seconds": None,  # it writes to ZooKeeper: MirrorMaker's ten minutes
        "west->east.enabled": "false",
        "replication.factor": "3",
    }
    assert {name: found.get(name) for name in expected} == expected


def test_the_unit(rendered: Callable[[str], Hosts]) -> None:
    """It runs Java without a shell, for this cluster alone as the target, and loses no line of its log."""
    worker = rendered("lab_mirrored/west")[WORKER]
    unit = worker.unit("mirror-maker.service")
    (command,) = unit["ExecStart"]
    arguments = command.replace("\\\n", " ").split()
    assert arguments[-3:] == [f"{FOLDER}/mirror-maker.properties", "--clusters", "west"]
    assert (unit["User"], unit["LogRateLimitIntervalSec"]) == (["mirror-maker"], ["0"])


def test_failed_tasks_are_looked_for(rendered: Callable[[str], Hosts]) -> None:
    """By a timer, at another time on each host; the script asks for the line that MirrorMaker logs."""
    worker = rendered("lab_mirrored/west")[WORKER]
    assert "mirror-maker-tasks.timer" in {unit["name"] for unit in worker.items("units")}
    assert worker.unit("mirror-maker-tasks.timer")["RandomizedDelaySec"] == ["30"]
    (command,) = worker.unit("mirror-maker-tasks.service")["ExecStart"]
    script = command.split()[1]
    assert "will not recover until manually restarted" in worker.text(script)
