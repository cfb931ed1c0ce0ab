"""Which replicas go from one log dir of a broker to another: literal clusters, and what holds of any."""

import random

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.kafka.disks.shifts import EVEN, DiskWish, planned, wished
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.facade.log_dirs import LogDir
from ansible_collections.millrace.kafka.plugins.module_utils.kafka.groups import Place

GIB = 1 << 30


def log_dir(path: str, *sizes: int, broker: int = 3, free: int | None = None, **more: object) -> LogDir:
    """Return a log dir with partitions of these sizes, in GiB, on a disk of 100."""
    topic = path.rpartition("/")[2]
    held: dict[Place, int] = {(f"t{topic}", number): size * GIB for number, size in enumerate(sizes)}
    left = 100 - sum(sizes) if free is None else free
    return LogDir(broker, path, 100 * GIB, left * GIB, held, **more)  # type: ignore[arg-type]


def shown(wish: DiskWish, *dirs: LogDir, topics: tuple[str, ...] = ()) -> list[str]:
    """Return the plan in short, or the refusals."""
    found = planned(wish, dirs, topics)
    return list(found.refusals) or [f"{one} {one.source}>{one.target}" for one in found.moves]


def test_one_log_dir_into_another() -> None:
    dirs = (log_dir("/d/1", 1, 2), log_dir("/d/2", 5), log_dir("/d/3"))
    wish = DiskWish({(3, "/d/1"): "/d/2"})
    assert shown(wish, *dirs) == ["t1-0 /d/1>/d/2", "t1-1 /d/1>/d/2"]


def test_an_emptied_one_goes_to_where_least_is() -> None:
    """The largest replica first, each to the emptiest log dir."""
    dirs = (log_dir("/d/1", 1, 6, 3), log_dir("/d/2", 4), log_dir("/d/3"))
    assert shown(DiskWish(empty=[(3, "/d/1")]), *dirs) == ["t1-0 /d/1>/d/3", "t1-1 /d/1>/d/3", "t1-2 /d/1>/d/2"]


def test_all_hold_the_same() -> None:
    """Log dirs of 12, 0 and 0 GiB: 8 GiB move, and no more."""
    dirs = (log_dir("/d/1", 4, 4, 1, 2, 1), log_dir("/d/2"), log_dir("/d/3"))
    assert shown(DiskWish(disks=[3]), *dirs) == ["t1-0 /d/1>/d/2", "t1-1 /d/1>/d/3"]


def test_other_topics_stay() -> None:
    dirs = (log_dir("/d/1", 4, 4), log_dir("/d/2"))
    assert shown(DiskWish(disks=[3]), *dirs, topics=("other",)) == []
    assert shown(DiskWish(empty=[(3, "/d/1")]), *dirs, topics=("t1",)) == ["t1-0 /d/1>/d/2", "t1-1 /d/1>/d/2"]


def test_what_is_even_stays() -> None:
    dirs = (log_dir("/d/1", 50, 49), log_dir("/d/2", 50, 49), log_dir("/d/3", broker=4))
    assert shown(DiskWish(disks=[3]), *dirs) == []


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (DiskWish(empty=[(9, "/d/1")]), "broker 9 is down or does not exist: start it, or use another id"),
        (DiskWish(empty=[(3, "/d/7")]), "broker 3 has no log dir /d/7: it has /d/1, /d/2"),
        (
            DiskWish(empty=[(3, "/d/4")]),
            "broker 3 has the offline log dir /d/4, and until it is replaced the broker starts no new copy of a "
            "replica: if it is full, free space on it and restart the broker; if it is broken, mount a new disk "
            "(playbooks/replace_disk.yml -e broker=3 -e log_dir=/d/4)",
        ),
        (
            DiskWish({(3, "/d/1"): "/d/4"}),
            "broker 3 has the offline log dir /d/4, and until it is replaced the broker starts no new copy",
        ),
        (
            DiskWish(disks=[3]),
            "broker 3 has the offline log dir /d/4, and until it is replaced the broker starts no new copy",
        ),
        (
            DiskWish(empty=[(3, "/d/1")]),
            "broker 3: 5.0 GiB of /d/1 have no room in its other log dirs, of which 10 % must stay free (free now: "
            "/d/2 18.0 GiB): use a larger disk",
        ),
        (DiskWish(empty=[(5, "/d/1")]), "broker 5 has the offline log dir /d/4, and until it is replaced the broker"),
        (DiskWish(empty=[(3, "/d/1"), (3, "/d/2")]), "broker 3 has no log dir besides /d/1, /d/2"),
        (DiskWish(empty=[(4, "/d/1")]), "broker 4 is already copying t9-0 to another log dir, for another tool"),
    ],
)
def test_what_is_refused(wish: DiskWish, words: str) -> None:
    dirs = (
        log_dir("/d/1", 5, 6),
        log_dir("/d/2", 10, free=18),
        *([log_dir("/d/4", given_up=True)] if "/d/4" in words else []),
        *(log_dir("/d/1", 5, broker=5), log_dir("/d/2", broker=5), log_dir("/d/4", broker=5, given_up=True)),
        log_dir("/d/1", 5, broker=4),
        log_dir("/d/2", broker=4, coming={("t9", 0): 1}),
    )
    (said,) = shown(wish, *dirs)
    assert said.startswith(words)


@pytest.mark.parametrize("seed", range(8))
def test_no_single_replica_would_make_it_more_even(seed: int) -> None:
    """The same dirs give the same plan, a dir only gives or only gets, and a tenth of each disk stays free."""
    chance = random.Random(seed)
    dirs = [
        LogDir(
            1,
            f"/d/{number}",
            10**6,
            chance.randrange(10**6),
            {(f"t{number}", one): int(chance.paretovariate(1.2) * 1000) for one in range(chance.randrange(60))},
        )
        for number in range(chance.randrange(2, 6))
    ]
    found = planned(DiskWish(disks=[1]), dirs)
    assert found == planned(DiskWish(disks=[1]), list(reversed(dirs)))
    after = {one.path: dict(one.sizes) for one in dirs}
    got = dict.fromkeys(after, 0)
    for shift in found.moves:
        after[shift.target][shift.place] = after[shift.source].pop(shift.place)
        got[shift.target] += shift.size
    free = {one.path: one.free or 0 for one in dirs}
    assert all(not size or free[path] - size >= 10**5 for path, size in got.items())
    total = {path: sum(held.values()) for path, held in after.items()}
    level = sum(total.values()) / len(total)
    fullest = max(total, key=lambda path: (total[path], path))
    for path, size in total.items():
        apart = total[fullest] - size
        better = [one for one in after[fullest].values() if one < apart and free[path] - got[path] - one >= 10**5]
        assert apart <= EVEN * level or not better, f"{path} could take {better}"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ((["3"], [], []), "disk 3: set the broker and two of its log dirs, for example disk=3:/data/1:/data/2"),
        ((["3:/a:/a/"], [], []), "disk 3:/a:/a/: /a is named twice"),
        ((["3:/a:/b", "3:/b:/c"], [], []), "disk: /b is both a source and a target"),
        (([], ["/a"], []), "empty /a: set the broker and its log dir, for example empty=3:/data/1"),
    ],
)
def test_mistakes(said: tuple[list[str], list[str], list[int]], words: str) -> None:
    with pytest.raises(ValueError, match="") as found:
        wished(*said)
    assert str(found.value).startswith(words)
