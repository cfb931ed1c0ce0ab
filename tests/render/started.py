"""Runs ansible-playbook and other commands of Ansible without a new start: each run forks a process that is loaded.

As a program: answers each line of its input, a command and its arguments, with one line: status and output. What every
run loads and none changes is loaded before the first: plugins, inputs of roles, what a check of the model stands on.
"""

import atexit
import gc
import json
import os
import subprocess
import sys
import tempfile
import warnings
from datetime import datetime
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("become", "cache", "callback", "connection", "inventory", "shell")
"""Of these Ansible looks at all of its own in each run."""
OFTEN = {
    "action": ("ansible.builtin.assert", "ansible.builtin.debug", "ansible.builtin.fail"),
    "callback": ("millrace.kafka.closing_line",),
    "inventory": ("auto", "host_list", "ini", "toml"),
    "lookup": (
        "ansible.builtin.file",
        "ansible.builtin.password",
        "millrace.kafka.rendered",
        "millrace.kafka.run_lock",
    ),
    "strategy": ("linear",),
}


class Started:
    """Runs playbooks in the repository's folder, as many at a time as are asked for, with these variables of the shell.

    `before` are words before the command, as of unshare.
    """

    def __init__(self, *before: str, **environment: str) -> None:
        """Start nothing yet."""
        self._command = (*before, sys.executable, __file__)
        self._environment = {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1", **environment}
        self._idle: SimpleQueue[subprocess.Popen[str]] = SimpleQueue()

    def run(self, *words: str, command: str = "playbook") -> subprocess.CompletedProcess[str]:
        """Return how a command of Ansible with these arguments ended, both outputs in one text."""
        try:
            process = self._idle.get_nowait()
        except Empty:
            environment = {**os.environ, **self._environment}
            pipe = subprocess.PIPE
            process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT, env=environment)
            atexit.register(process.communicate)  # ends its input, and waits: its CPU time is this process's own then
        assert process.stdin and process.stdout
        process.stdin.write(f"{json.dumps([command, *words])}\n")
        process.stdin.flush()
        code, output = json.loads(process.stdout.readline())
        self._idle.put(process)
        return subprocess.CompletedProcess(words, code, output)


def load() -> None:
    """Load plugins, and judge an inventory, without a command line; what depends on one is forgotten again."""
    import_module("ansible.cli.playbook")  # as the command does, before anything else
    stop_clock()
    from ansible.plugins import loader
    from ansible.utils.vars import load_extra_vars, load_options_vars

    loader.init_plugin_loader()
    warnings.filterwarnings("ignore", "AnsibleCollectionFinder has already been configured")
    plugins = "ansible_collections.millrace.kafka.plugins.plugin_utils"
    reading, judging, hosts = (
        import_module(f"{plugins}.{name}") for name in ("inventory", "preflight.inventory_problems", "hosts")
    )
    with tempfile.TemporaryDirectory() as folder:
        reader = reading.load(ROOT / "inventories" / "lab", {"lab_directory": folder, "pki_directory": folder})
        model = reader.read()
        judging.problems_of(reader, model)
        hosts.check_hosts(model, {})
    for kept in (load_extra_vars, load_options_vars):
        vars(kept).clear()
    for file in (ROOT / "plugins" / "action").glob("*.py"):
        loader.action_loader.get(f"millrace.kafka.{file.stem}", class_only=True)
    for file in (ROOT / "plugins" / "filter").glob("*.yml"):
        loader.filter_loader.get(f"millrace.kafka.{file.stem}")
    for kind in KINDS:
        list(getattr(loader, f"{kind}_loader").all(class_only=True))
    for kind, names in OFTEN.items():
        for name in names:
            getattr(loader, f"{kind}_loader").get(name, class_only=True)


def stop_clock() -> None:
    """Have `now()` of templates return the same moment in all runs: no slow machine makes an answer old."""
    moment = datetime.now()
    vars(import_module("ansible._internal._templating._jinja_bits"))["_now"] = lambda: moment


def answer(command: str, *words: str) -> tuple[int, str]:
    """Run a command of Ansible in a process of its own; return its status and output."""
    main = import_module(f"ansible.cli.{command}").main
    read, write = os.pipe()
    child = os.fork()
    if not child:
        code: object = 1
        try:
            for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (write, 1), (write, 2)):
                os.dup2(source, target)
            os.close(read)
            atexit._clear()  # the folder for temporary files, which later runs have too, stays
            sys.argv = [f"ansible-{command}", *words]
            main(sys.argv)
        except SystemExit as end:
            code = end.code or 0  # ansible-vault ends with None
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code if isinstance(code, int) else 1)
    os.close(write)
    with os.fdopen(read) as stream:
        output = stream.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), output


if __name__ == "__main__":
    load()
    gc.disable()  # a run's fork ends within seconds, and its memory with it
    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line))), flush=True)
