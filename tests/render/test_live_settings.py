"""A changed setting that running brokers take: it is in their files, they are told, and no restart is owed."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from render.conftest import Hosts
from render.site import Rendered
from render.test_restart import ANSWERS, Played

SERVER, UNIT = "/etc/kafka/server.properties", "/etc/systemd/system/kafka.service"
SETTINGS = dict.fromkeys(
    (
        "background.threads",
        "compression.type",
        "log.retention.bytes",
        "log.retention.ms",
        "log.roll.jitter.ms",
        "log.roll.ms",
        "log.segment.bytes",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
    )
)
"""What a broker with a small heap can be told: it has no room for a second log cleaner."""


def environment(host: Rendered) -> dict[str, str]:
    """Return the variables of the unit."""
    return dict(re.findall(r"^Environment=(\w+)=(.*)$", host.text(UNIT), re.MULTILINE))


def test_its_file_has_it_and_no_restart_is_owed(rendered: Callable[[str], Hosts]) -> None:
    """What kafka_dynamic_config says of a broker is nobody else's to tell it."""
    plain, other = (rendered(name)["dc1-kafka3"] for name in ("lab", "varied"))
    mine = {"num.io.threads": "16", "log.retention.hours": "24", "background.threads": "12"}
    assert other.properties(SERVER) == {**plain.properties(SERVER), **mine}
    before, after = environment(plain), environment(other)
    assert before["CONFIG_DIGEST"] == after["CONFIG_DIGEST"] and before["LIVE_DIGEST"] != after["LIVE_DIGEST"]
    told = {**SETTINGS, "num.io.threads": "16", "log.retention.ms": "86400000"}
    del told["background.threads"]
    live = [one.services[0]["live"] for one in (plain, other)]
    assert [one["settings"] for one in live] == [SETTINGS, told]
    assert [one["digest"] for one in live] == [before["LIVE_DIGEST"], after["LIVE_DIGEST"]]


def test_a_heap_with_room_for_two_log_cleaners(rendered: Callable[[str], Hosts]) -> None:
    told = rendered("dc1")["dc1-kafka1"].services[0]["live"]["settings"]
    assert told == {**SETTINGS, "log.cleaner.threads": None, "message.max.bytes": None}


def told(run: Played) -> list[dict[str, Any]]:
    """Return the brokers that kafka_live_config was called with."""
    calls = [options["brokers"] for name, _, options in run.calls if name == "kafka_live_config"]
    return [one for brokers in calls for one in brokers]


def noted(run: Played) -> dict[str, Any]:
    """Return by host what was noted of what it was told."""
    live = {host: one.get("live") for name, host, call in run.calls if name == "host_state" for one in call["units"]}
    return {host: one["told"] for host, one in live.items() if one and "told" in one}


def test_who_is_told_and_what_is_noted_of_it(tmp_path: Path) -> None:
    """After the restarts, once for all; nothing is noted of one that gave no answer, nor in check mode."""
    owed = {"owed": True, "anew": True, "told": {"num.io.threads": ["4"]}}
    live = {"dc1-kafka1": owed, "dc1-kafka2": {"told": {"num.network.threads": ["7"]}}, "dc1-kafka3": {"owed": True}}
    ours = {"num.io.threads": ["16"]}
    more: dict[str, Any] = {"noted_live": live, "render_directory": str(tmp_path)}
    more |= {"kafka_config_overrides": {"num.io.threads": 16, "log.retention.ms": 172800000}}
    more |= {"kafka_dynamic_config": {"num.network.threads": None}}
    answers = {**ANSWERS, "kafka_live_config": {"may_stop": {"told": {"3": ours}}}}
    run = Played(tmp_path, "kafka", "--tags", "config", answers=answers, **more)
    assert run.code == 0, run.output
    settings = {**SETTINGS, "num.io.threads": "16", "log.retention.ms": "172800000"}
    del settings["num.network.threads"]
    assert told(run) == [
        {"id": 1, "settings": settings, "told": owed["told"], "anew": True},
        {"id": 3, "settings": settings, "told": {}, "anew": False},
    ]
    assert noted(run) == {"dc1-kafka3": ours}
    names = [name for name, _, _ in run.calls]
    assert names.index("kafka_live_config") > names.index("kafka_cluster")
    (tmp_path / "check").mkdir()
    check = Played(tmp_path / "check", "kafka", "--tags", "config", "--check", answers=answers, **more)
    assert check.code == 0, check.output
    assert told(check) == told(run) and noted(check) == {}
    (tmp_path / "none").mkdir()
    unchanged = Played(tmp_path / "none", "kafka", "--tags", "config", **{**more, "noted_live": {}})
    assert unchanged.code == 0 and told(unchanged) == [], unchanged.output
