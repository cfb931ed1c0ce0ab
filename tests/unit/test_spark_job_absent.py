"""A job that is declared absent: stopped, out of the boot, its files removed; its progress and its data stay."""

from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.millrace.kafka.plugins.filter.spark_job import FilterModule
from ansible_collections.millrace.kafka.plugins.modules.host_state import SPEC
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec

JOBS: dict[str, Any] = FilterModule().filters()
CONFIG = {"checkpoint": "/c/old", "input_directory": "/in", "kafka": {"ssl.key.password": "pw"}}
OLD = {"name": "old", "job": "count_words", "state": "absent", "config": CONFIG}
NEW = {"name": "new", "job": "count_words", "config": {"checkpoint": "/c/new"}}
STARTED_FROM = ("r1", "/jars", "unit")


def test_its_files_are_removed_and_hold_nothing() -> None:
    files = {file["path"]: file for file in JOBS["spark_job_files"]([OLD, NEW], *STARTED_FROM)}
    assert files["/etc/spark-job/old.json"] == {"path": "/etc/spark-job/old.json", "state": "absent"}
    assert files["/etc/spark-job/old.env"] == {"path": "/etc/spark-job/old.env", "state": "absent"}
    assert "state" not in files["/etc/spark-job/new.json"]
    own = {**OLD, "unit_overrides": {"Service": {"Nice": 5}}}
    drop_ins = [file for file in JOBS["spark_job_files"]([own], *STARTED_FROM) if file["path"].endswith(".conf")]
    assert [(file["path"].rpartition("/")[2], file["state"]) for file in drop_ins] == [
        ("unit_overrides.conf", "absent"),
        ("10-watchdog.conf", "absent"),
    ]


def test_a_drop_in_of_its_own_restarts_a_job_and_no_other() -> None:
    def digests(**more: Any) -> list[str]:
        jobs = [{**NEW, **more}, {**NEW, "name": "other"}]
        return [unit["digest"] for unit in JOBS["spark_job_units"](jobs, *STARTED_FROM)]

    plain, nice, nicer = digests(), *(digests(unit_overrides={"Service": {"Nice": number}}) for number in (5, 6))
    assert len({plain[0], nice[0], nicer[0]}) == 3
    assert plain[1] == nice[1] == nicer[1]
    assert digests(unit_overrides={}) == plain


def drop_in(job: dict[str, Any]) -> tuple[str, str]:
    """Return state and text of the file that sets the watchdog of a job."""
    path = f"/etc/systemd/system/spark-job@{job['name']}.service.d/10-watchdog.conf"
    (found,) = (file for file in JOBS["spark_job_files"]([job], *STARTED_FROM) if file["path"] == path)
    return found["state"], found["content"]


def test_a_watchdog_of_its_own_restarts_a_job() -> None:
    """Only a job with another value has a drop-in, which systemd reads before the drop-in with `unit_overrides`."""

    def digest(**more: Any) -> str:
        (unit,) = JOBS["spark_job_units"]([{**NEW, **more}], *STARTED_FROM)
        return str(unit["digest"])

    assert drop_in(NEW) == drop_in({**NEW, "watchdog": 600}) == ("absent", "")
    assert drop_in({**OLD, "watchdog": 60}) == ("absent", "")
    head = "# Written by the role spark_job: watchdog of new in spark_job_jobs.\n\n[Service]\n"
    assert drop_in({**NEW, "watchdog": 0}) == ("present", f"{head}WatchdogSec=0\n")
    assert drop_in({**NEW, "watchdog": 900}) == ("present", f"{head}WatchdogSec=900\n")
    assert digest() == digest(watchdog=600) == digest(watchdog=None)
    assert len({digest(), digest(watchdog=0), digest(watchdog=900)}) == 3
    folder = "/etc/systemd/system/spark-job@new.service.d"

    def made(watchdog: int) -> bool:
        return folder in [each["path"] for each in JOBS["spark_job_directories"]([{**NEW, "watchdog": watchdog}])]

    assert (made(0), made(600)) == (True, False)


def test_its_unit_is_stopped_and_disabled() -> None:
    units = {unit["name"]: unit for unit in JOBS["spark_job_units"]([OLD, NEW], *STARTED_FROM)}
    assert units["spark-job@old.service"] == {"name": "spark-job@old.service", "enabled": False, "state": "absent"}
    assert units["spark-job@new.service"]["state"] == "converged"
    assert JOBS["spark_job_running"]([OLD, NEW]) == ["spark-job@new.service"]


def test_its_directories_are_neither_made_nor_changed() -> None:
    paths = [directory["path"] for directory in JOBS["spark_job_directories"]([OLD, NEW])]
    assert [path for path in paths if "old" in path or path == "/in"] == []
    assert {"/var/lib/spark-job/new", "/c/new"} <= {*paths}


def test_role_and_module_take_it() -> None:
    option = argument_spec("spark_job")["spark_job_jobs"]
    told = ArgumentSpecValidator({"spark_job_jobs": option}).validate({"spark_job_jobs": [OLD]})
    assert told.error_messages == []
    wanted = {name: JOBS[f"spark_job_{name}"]([OLD], *STARTED_FROM) for name in ("files", "units")}
    assert ArgumentSpecValidator(SPEC).validate(wanted).error_messages == []
