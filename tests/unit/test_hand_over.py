"""The hand-over of the controller before its broker stops, against a server that speaks ZooKeeper's protocol."""

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args
from unit.fenced import HAND_OVER, Host, Server, state

from ansible_collections.millrace.kafka.plugins.modules import kafka_controller

pytest_plugins = ["unit.fenced"]
pytestmark = pytest.mark.usefixtures("broker")

CONTROLLER = "/kafka/controller"


def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds; the limit is against hanging."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_another_is_elected(host: Host, server: Server) -> None:
    """The controller's znode goes, and nothing else; the session of who asked is closed."""
    server.elections = [(2, 0x52)]
    before = {path: said for path, said in server.znodes.items() if path != CONTROLLER}
    assert host.hand_over() == "broker 2 is the controller now [1] [2] handed_over"
    assert server.znodes == {**before, CONTROLLER: ({"brokerid": 2}, 0x52)}
    assert (server.ended, server.closed) == ([], 1)
    assert host.hand_over() == "broker 1 is not the controller [] [] not_controller"
    assert server.znodes[CONTROLLER] == ({"brokerid": 2}, 0x52)


def test_it_is_held_while_another_is_elected(host: Host, server: Server, broker: int) -> None:
    """Else it would be elected again, now and then."""
    seen = list[str]()
    server.elections, server.before[14] = [(2, 0x52)], lambda: seen.append(state(broker))
    assert host.hand_over() == "broker 2 is the controller now [1] [2] handed_over"
    assert seen == ["T"]
    until(lambda: state(broker) == "S")


def test_it_goes_on_where_nobody_is_elected(host: Host, server: Server, broker: int) -> None:
    """It serves all that it leads, HELD seconds after it was stopped, and before anything is answered."""
    host.limits["HELD"] = 1.0
    server.elections, server.before[14] = [(2, 0x52)], lambda: until(lambda: state(broker) == "S")
    assert host.hand_over() == "broker 2 is the controller now [1] [2] handed_over"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_goes_on_where_the_hand_over_is_killed(host: Host, server: Server, broker: int, number: int) -> None:
    """As by the end of a session, which ends all of its processes."""
    seen = list[str]()

    def end() -> None:
        seen.append(state(broker))
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        for process in map(int, children if number == signal.SIGTERM else ()):
            os.kill(process, number)
        os.killpg(run.pid, number)
        run.wait(60)

    server.before[14] = end
    with subprocess.Popen(host.handing_over(), env=host.environment, start_new_session=True) as run:
        until(lambda: run.poll() is not None and state(broker) == "S")
    assert (seen, run.returncode) == (["T"], -number)


def test_it_goes_on_where_who_holds_it_is_killed(host: Host, server: Server, broker: int) -> None:
    """As by a kernel that runs out of memory."""
    held = list[str]()

    def end() -> None:
        held.append(state(broker))
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                command = (folder / "cmdline").read_bytes()
                parent = int((folder / "stat").read_text().rpartition(") ")[2].split()[1])
                if bytes(host.properties) in command and bytes(host.properties) in cmdline(parent):
                    os.kill(int(folder.name), signal.SIGKILL)

    server.elections, server.before[14] = [(2, 0x52)], end
    assert host.hand_over() == "broker 2 is the controller now [1] [2] handed_over"
    assert held == ["T"]
    until(lambda: state(broker) == "S")


def cmdline(process: int) -> bytes:
    """Return what was typed, with zeros between."""
    return Path(f"/proc/{process}/cmdline").read_bytes()


def test_a_process_that_cannot_be_held_stays_the_controller(host: Host, server: Server) -> None:
    """It ended since it was asked for."""
    with subprocess.Popen(["true"]) as ended:
        ended.wait(60)
    host.running(ended.pid)
    text = "the controller was not handed over: the broker's process could not be paused [] [] failed"
    assert host.hand_over() == text
    assert server.znodes[CONTROLLER] == ({"brokerid": 1}, 0x51)


def test_who_was_elected_since_it_looked_stays(host: Host, server: Server) -> None:
    """Each election writes the epoch of controllers anew."""

    def elected() -> None:
        server.version, server.znodes[CONTROLLER] = 8, ({"brokerid": 3}, 0x53)

    server.before[14] = elected
    error = "ZooKeeper refused with error -103"
    assert host.hand_over() == f"the controller was not handed over: {error} [] [] failed"
    assert server.znodes[CONTROLLER] == ({"brokerid": 3}, 0x53)


def test_nobody_knows_whether_it_was_deleted(host: Host, server: Server) -> None:
    """Who stops it waits until nobody names it."""

    def gone() -> None:
        raise ConnectionError

    server.before[14] = gone
    text = "the controller's znode may have been deleted, but no new controller is known"
    assert host.hand_over() == f"{text}: the server closed the connection [1] [] unknown"


def test_its_process_is_not_known(host: Host, server: Server) -> None:
    """As of a broker that was started by hand."""
    host.running(0)
    assert host.hand_over() == "the controller was not handed over: kafka.service has no process [] [] failed"
    assert server.znodes[CONTROLLER] == ({"brokerid": 1}, 0x51)


def test_who_is_elected_again_stays(host: Host, server: Server) -> None:
    """As where it is held no longer. A second deletion would come before all have heard of the first."""
    server.elections = [(1, 0x51), (2, 0x52)]
    assert host.hand_over() == "broker 1 was elected, but it is about to stop [] [1] stopping"
    assert server.elections == [(2, 0x52)]


def test_who_was_elected_a_moment_ago_stays(host: Host, server: Server) -> None:
    """Brokers ask for the next deletion to be told when they have done what the last one asked of them."""
    server.elections = [(2, 0x52)]
    server.znodes[CONTROLLER] = ({"brokerid": 1, "timestamp": str(int((time.time() - 2) * 1000))}, 0x51)
    assert host.hand_over() == "broker 1 was elected less than 5 s ago [] [] refused"
    assert server.elections == [(2, 0x52)]
    server.znodes[CONTROLLER] = ({"brokerid": 1, "timestamp": str(int((time.time() - 9) * 1000))}, 0x51)
    assert host.hand_over() == "broker 2 is the controller now [1] [2] handed_over"


def test_nobody_is_elected(host: Host, server: Server) -> None:
    """The stop goes on after ELECTED seconds."""
    host.limits["ELECTED"] = 1.0
    text = "the controller's znode may have been deleted, but no new controller is known"
    assert host.hand_over() == f"{text}: no controller was elected within 1 s [1] [] unknown"


def test_the_next_one_is_waited_for(host: Host, server: Server) -> None:
    """An election takes a moment."""

    def later() -> None:
        server.before[4] = lambda: server.znodes.update({CONTROLLER: ({"brokerid": 2}, 0x52)})

    server.before[14] = later
    assert host.hand_over() == "broker 2 is the controller now [1] [2] handed_over"


@pytest.mark.parametrize(
    "controller",
    [
        ({"brokerid": 2}, 0x52),
        ({"brokerid": 1}, 0x53),  # of a process that has ended
        ({"brokerid": 1}, 0),  # of no session
        None,
    ],
)
def test_another_controller_stays(host: Host, server: Server, controller: tuple[object, int] | None) -> None:
    """Nothing is deleted."""
    server.znodes.pop(CONTROLLER)
    if controller and not controller[1]:
        server.znodes["/kafka/brokers/ids/1"] = (server.znodes["/kafka/brokers/ids/1"][0], 0)
    if controller:
        server.znodes[CONTROLLER] = controller
    before = dict(server.znodes)
    assert host.hand_over() == "broker 1 is not the controller [] [] not_controller"
    assert server.znodes == before


def test_who_runs_elsewhere_under_this_id_stays(host: Host, server: Server) -> None:
    """Its registration has none of the endpoints of this host's file; one that is new there is no other host."""
    server.elections = [(2, 0x52)]
    ours = host.lines["advertised.listeners"].split(",")[0]
    server.znodes["/kafka/brokers/ids/1"] = ({"endpoints": ["CLIENT://198.18.1.29:9092"]}, 0x51)
    text = "broker 1 is registered with none of the addresses in its server.properties [] [] refused"
    assert host.hand_over() == text
    assert server.znodes[CONTROLLER] == ({"brokerid": 1}, 0x51)
    server.znodes["/kafka/brokers/ids/1"] = ({"endpoints": [ours]}, 0x51)
    assert host.hand_over() == "broker 2 is the controller now [1] [2] handed_over"


def test_who_is_stopped_with_it_is_not_to_be_it(host: Host, server: Server) -> None:
    """As the other broker of its rack."""
    server.znodes["/kafka/brokers/ids/3"] = ({"endpoints": ["CLIENT://198.18.1.23:9092"]}, 0x53)
    server.elections = [(2, 0x52)]
    assert host.hand_over("1", "2") == "broker 2 was elected, but it is about to stop [1] [2] stopping"
    server.znodes[CONTROLLER] = ({"brokerid": 1}, 0x51)
    assert host.hand_over("1", "2", "3") == "no other broker that keeps running is registered [] [] refused"


def test_who_is_alone_stays(host: Host, server: Server) -> None:
    """It would be elected again, as the last of a planned outage."""
    del server.znodes["/kafka/brokers/ids/2"]
    assert host.hand_over() == "no other broker that keeps running is registered [] [] refused"
    assert server.znodes[CONTROLLER] == ({"brokerid": 1}, 0x51)


def test_names_of_no_length_end(host: Host, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a server that is broken."""
    monkeypatch.setattr(server, "children", struct.pack(">ii", 2**31 - 1, -4))
    assert host.hand_over().startswith("the controller was not handed over: ")


def test_no_server_answers(host: Host) -> None:
    """The stop goes on at once."""
    host.lines["zookeeper.connect"] = f"127.0.0.1:{host.port}/kafka"  # where nobody listens
    assert host.hand_over().startswith("the controller was not handed over: no ZooKeeper server answers")


def test_it_is_written_for_hosts() -> None:
    """By the host's own Python; whatever happens, the stop goes on."""
    command = [sys.executable, "-I", "-S", str(HAND_OVER), "/nowhere"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    outcome = json.loads(done.stdout)
    assert outcome["state"] == "failed"
    assert outcome["message"].startswith("the controller was not handed over: [Errno 2]")


def test_the_module_reports_the_outcome(
    host: Host,
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A change where another broker is elected, a warning where it came to nothing, and never a failure."""
    warned = list[str]()
    monkeypatch.setattr(AnsibleModule, "warn", lambda _, text: warned.append(text))

    def run(**options: object) -> tuple[bool, str, str]:
        monkeypatch.setenv("PATH", host.environment["PATH"])
        given = {"stopped": [1], "script": str(HAND_OVER), "properties": str(host.properties), **options}
        with patch_module_args(given), pytest.raises(SystemExit) as ended:
            kafka_controller.main()
        result = json.loads(capsys.readouterr().out)
        assert ended.value.code == 0
        assert result["elected"] == ([2] if result["changed"] else [])
        # Without `former`, the caller waits as if the controller had moved: a killed script may have deleted the znode.
        killed = str(given["script"]).endswith("killed.py")
        assert result.get("former") == (None if killed else [1] if result["changed"] else [])
        return result["changed"], result["state"], result["answer"]

    host.write()
    server.elections = [(2, 0x52)]
    assert run(_ansible_check_mode=True) == (False, "not_asked", "not asked in check mode")
    assert run() == (True, "handed_over", "broker 2 is the controller now")
    assert run() == (False, "not_controller", "broker 1 is not the controller")
    assert not warned
    killed = tmp_path / "killed.py"
    killed.write_text("import os; os.kill(os.getpid(), 9)")
    assert run(script=str(killed)) == (False, "unknown", f"{killed} ended with -9")
    older = tmp_path / "older.py"
    older.write_text("""print('{"said": "broker 2 is the controller now", "former": [], "elected": [2]}')""")
    answer = f"{older} is of another release: run kafka.yml, which replaces it"
    assert run(script=str(older)) == (False, "unknown", answer) and answer in warned.pop()
    changed, outcome, answer = run(script="/nowhere")
    assert not changed and outcome == "failed" and "No such file" in answer and answer in warned[1]
    del server.znodes["/kafka/brokers/ids/2"]
    server.znodes[CONTROLLER] = ({"brokerid": 1}, 0x51)
    reason = "no other broker that keeps running is registered"
    assert run() == (False, "refused", reason)
    assert warned[2] == f"this broker may still be the controller when it stops: {reason}"
