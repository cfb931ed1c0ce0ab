"""The inventory plugin: the project's variables are below everything that a site writes, in whatever file and order.

Its code is in site.py and variable_files.py.
"""

import gc
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible.vars.manager import VariableManager
from model.preflight import started

from ansible_collections.millrace.kafka.plugins.inventory.absent import InventoryModule
from ansible_collections.millrace.kafka.plugins.plugin_utils.functions import Function, functions, variables
from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import find_collections

ROOT = Path(__file__).parents[2]
PLUGIN = "plugin: millrace.kafka.site\n"
HOSTS = "all: {children: {kafka: {hosts: {a: {}}}, zookeeper: {hosts: {z: {}}}, rack_a: {hosts: {a: {}}}}}\n"
NAME, OURS = "kafka_zookeeper_chroot", "/kafka"


def values(folder: Path, files: dict[str, str], host: str = "a") -> dict[str, Any]:
    """Write files into a folder; return what Ansible knows of a host."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    find_collections()
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(folder)])
    found: dict[str, Any] = VariableManager(loader=loader, inventory=inventory).get_vars(host=inventory.get_host(host))
    return found


def test_every_host_has_the_variables_of_every_function(tmp_path: Path) -> None:
    found = values(tmp_path, {"hosts.yml": PLUGIN + HOSTS}, "z")
    assert found[NAME] == OURS
    assert list(found["function_units"]) == [name for name, function in functions().items() if function.units]
    assert list(functions())[:4] == ["zookeeper", "kafka", "database", "spark_masters"]
    assert [name for function in functions().values() for name in function.variables if name not in found] == []


@pytest.mark.parametrize(("host", "mounts"), [("a", ["/data/k"]), ("z", ["/data/zookeeper-log"]), ("s", [])])
def test_what_a_function_says_is_computed_on_its_hosts_alone(host: str, mounts: list[str], tmp_path: Path) -> None:
    """What a site says of one group, as CONTRIBUTING has it, others do not have."""
    hosts = HOSTS.replace("kafka: {", "kafka: {vars: {kafka_log_dirs: [/data/k]}, ", 1)
    found = values(tmp_path, {"hosts.yml": PLUGIN + hosts.replace("rack_a", "spark: {hosts: {s: {}}}, rack_a")}, host)
    text = trust_as_template("{{ function_mounts | millrace.kafka.function_items(group_names) }}")
    assert Templar(loader=DataLoader(), variables=found).template(text) == mounts


@pytest.mark.parametrize(
    "file",
    [
        {"hosts.yml": PLUGIN + HOSTS.replace("all: {", f"all: {{vars: {{{NAME}: /ours}}, ")},
        {"hosts.yml": PLUGIN + HOSTS.replace("kafka: {", f"kafka: {{vars: {{{NAME}: /ours}}, ")},
        {"hosts.yml": PLUGIN + HOSTS.replace("rack_a: {", f"rack_a: {{vars: {{{NAME}: /ours}}, ")},
        {"hosts.yml": PLUGIN + HOSTS.replace("a: {}", f"a: {{{NAME}: /ours}}", 1)},
        {"hosts.yml": PLUGIN + HOSTS, "group_vars/all/x.yml": f"{NAME}: /ours\n"},
        {"hosts.yml": PLUGIN + HOSTS, "group_vars/rack_a.yml": f"{NAME}: /ours\n"},
        {"hosts.yml": PLUGIN + HOSTS, "host_vars/a.yml": f"{NAME}: /ours\n"},
        {"a.yml": PLUGIN, "hosts.yml": HOSTS.replace("all: {", f"all: {{vars: {{{NAME}: /ours}}, ")},
        {"hosts.yml": HOSTS.replace("all: {", f"all: {{vars: {{{NAME}: /ours}}, "), "z.yml": PLUGIN},
        {"hosts": f"[kafka]\na\n[all:vars]\n{NAME}=/ours\n", "z.yml": PLUGIN},
    ],
    ids=["all", "group", "rack", "host", "group_vars all", "group_vars", "host_vars", "before", "after", "INI"],
)
def test_what_a_site_writes_goes_before(file: dict[str, str], tmp_path: Path) -> None:
    assert values(tmp_path, file)[NAME] == "/ours"


def test_an_inventory_of_another_kind_gets_the_same(tmp_path: Path) -> None:
    assert values(tmp_path, {"hosts": "[kafka]\na\n", "site.yml": PLUGIN})[NAME] == OURS


def test_what_sites_share_stands_between(tmp_path: Path) -> None:
    """The later folder goes before the earlier, the site before both; a group that the site lacks is left out."""
    shared = 'shared: ["{{ inventory_dir }}/../one", "../two"]\n'
    files = {
        "mine/hosts.yml": PLUGIN + shared + HOSTS.replace("all: {", "all: {vars: {x: site}, "),
        "one/all.yml": f"{NAME}: /one\nx: one\ny: one\n",
        "one/kafka.yml": "w: one\n",
        "one/spark.yml": "v: one\n",
        "two/all.yml": "y: two\n",
    }
    (tmp_path / "mine").mkdir()
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = values(tmp_path / "mine", {})
    assert (found[NAME], found["x"], found["y"], found["w"], "v" in found) == ("/one", "site", "two", "one", False)


def test_what_sites_share_for_a_group_is_below_what_the_site_says_of_all(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Also where the group's parents, or a second file of the site, say it, and whenever memory is collected."""
    request.addfinalizer(partial(gc.set_threshold, *gc.get_threshold()))
    gc.set_threshold(1)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "kafka.yml").write_text(f"{NAME}: /shared\nx: shared\n")
    (tmp_path / "shared" / "all.yml").write_text("y: shared\nlayout: stretch2\n")
    shared = 'shared: ["{{ inventory_dir }}/../shared"]\n'
    files = {
        "hosts.yml": PLUGIN + HOSTS.replace("all: {", f"all: {{vars: {{{NAME}: /site, y: site}}, "),
        "more.yml": PLUGIN + shared,
    }
    found = values(tmp_path / "mine", files)
    assert (found[NAME], found["x"], found["y"], found["layout"]) == ("/site", "shared", "site", "stretch2")


SHARED = PLUGIN + 'shared: ["{{ inventory_dir }}/../shared"]\n'


def beside(name: str, vars: str = "") -> str:
    """Return a site that takes what others share, with a group beside kafka that has the same host."""
    group = f"{name}: {{hosts: {{a: {{}}}}{f', vars: {{{vars}}}' if vars else ''}}}"
    return SHARED + HOSTS.replace("rack_a", f"{group}, rack_a")


@pytest.mark.parametrize(
    ("files", "heap"),
    [
        ({"hosts.yml": beside("big"), "group_vars/big.yml": "kafka_heap: 6g\n"}, "6g"),
        ({"hosts.yml": beside("wide", "kafka_heap: 6g")}, "6g"),
        ({"hosts.yml": beside("big", "kafka_heap: 6g").replace("big: {hosts: {a", "big: {hosts: {z")}, "31g"),
        ({"a.yml": SHARED, "hosts": "[kafka]\na\n"}, "31g"),
        ({"a.yml": SHARED, "hosts": "[kafka]\na\n[kafka:vars]\nkafka_heap=6g\n"}, "6g"),
        ({"hosts.yml": beside("big", "kafka_heap: 6g")}, "refused"),
    ],
    ids=["file of a group", "a stronger group", "of other hosts", "INI later", "INI later says it", "a weaker group"],
)
def test_what_sites_share_for_a_group_is_below_other_groups(
    files: dict[str, str], heap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the group is in a source that is read later; what Ansible would turn round is refused."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "kafka.yml").write_text("kafka_heap: 31g\n")
    if heap != "refused":
        assert values(tmp_path / "mine", files)["kafka_heap"] == heap
        return
    with pytest.raises(AnsibleError):
        values(tmp_path / "mine", files)
    said = " ".join(capsys.readouterr().err.split())
    assert "kafka_heap would override the site's value in the group big, which has hosts of " in said
    assert "move it to group_vars/big.yml" in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("shared: [nowhere]", "shared = nowhere: there is no directory"),
        ("shared: lab", "shared = lab: is not a list; write a list of directories"),
        ("more: {children: {spark: {children: [a]}}}", "children of spark: is a list, whose lines begin with a dash"),
        ("more: {hosts: [a]}", "hosts of more: is a list, whose lines begin with a dash"),
        ("more: {vars: production}", "vars of more: is production; write lines like rack: a"),
        (
            "more: {var: {a: 1}}",
            "var of more: unknown key, a group has hosts, children and vars; did you mean vars?",
        ),
        ("more: {children: {racks: {kafka7: {}}}}", "kafka7 of racks: unknown key"),
        ("kafka: {vars: {shared: [lab]}}", "shared in vars of kafka: is a key of the file, not a variable"),
        ("hosts: [a, b]", "hosts = ['a', 'b']: is not a group"),
        ('shared: ["{{ playbook_dir }}/shared"]', "only {{ inventory_dir }} can be used here"),
        ("shared: [other_name]", "kafka.yaml would be ignored; rename it to GROUP.yml"),
        ("shared: [list]", "all.yml: contains no variables"),
    ],
)
def test_what_is_wrong_with_the_file_is_said(line: str, said: str, tmp_path: Path) -> None:
    for name, text in (
        ("hosts.yml", f"{PLUGIN}{line}\n{HOSTS}"),
        ("other_name/kafka.yaml", ""),
        ("list/all.yml", "[1]"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    done = started().run("-i", str(tmp_path / "hosts.yml"), "--list", command="inventory")
    assert done.returncode != 0
    assert said in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("heap: [6g\nb: 1\n", "group_vars/all.yml:2:2: invalid YAML: While parsing a flow sequence"),
        ("a: 1\n\tb: 2\n", "group_vars/all.yml:2:"),
        ("a: =\n", "'tag:yaml.org,2002:value'; put = in quotes: alone it has a meaning in YAML"),
        ("a: <<\n", "'tag:yaml.org,2002:merge'; put << in quotes: as a value it has no meaning in YAML"),
        ("a: *b\n", "Found undefined alias; put the text in quotes: YAML reads a text that begins with * as an alias"),
        ("a: @b\n", "cannot start any token; put the text in quotes: no text without quotes may begin with @"),
        ("- heap: 6g\n", "group_vars/all.yml: a list instead of variables"),
        (
            "a: {x: 1}\nheap: 6g\nb:\n  heap: 2g\nheap: 7g\n",
            "group_vars/all.yml:5:1: heap is set twice, first in line 2; keep one of the two",
        ),
        ("heap: M\u00fcnchen", "group_vars/all.yml: invalid YAML"),
    ],
    ids=["bracket", "tab", "equals", "merge", "alias", "at", "list", "twice", "Latin-1"],
)
def test_a_file_of_variables_that_is_none_is_said_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    """And all of them at once, before Ansible ends over the first."""
    (tmp_path / "hosts.yml").write_text(PLUGIN + HOSTS)
    for name in ("group_vars/all.yml", "group_vars/kafka/z.yml"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    done = started().run("-i", str(tmp_path / "hosts.yml"), "--list", command="inventory")
    assert done.returncode != 0
    shown = "".join(done.stdout.split())
    assert "".join(said.split()) in shown
    assert f"{tmp_path}/group_vars/kafka/z.yml:" in shown
    assert done.stdout.partition("[ERROR]")[2].count(f"{tmp_path}/group_vars/all.yml") == 1
    assert (done.stdout.count("[ERROR]"), "Failed to parse" in done.stdout) == (1, False), done.stdout


def test_a_site_that_takes_inventories_of_nobody_gets_one(tmp_path: Path) -> None:
    """What Ansible is told to go on with, it goes on with."""
    (tmp_path / "hosts.yml").write_text(PLUGIN + HOSTS)
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "all.yml").write_text("- heap\n")
    command = [sys.executable, "-m", "ansible", "inventory", "-i", str(tmp_path / "hosts.yml"), "--graph"]
    environment = {**os.environ, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "false"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert "a list instead of variables" in " ".join(done.stderr.split())
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", [PLUGIN, ""], ids=["names the plugin", "plain"])
def test_a_later_file_goes_before_what_was_laid(line: str, tmp_path: Path) -> None:
    files = {
        "a.yml": PLUGIN + HOSTS,
        "b.yml": f"{line}all: {{vars: {{{NAME}: /ours, pki_directory: /kept}}}}\n",
        "c.yml": PLUGIN,
    }
    found = values(tmp_path, files)
    assert (found[NAME], found["pki_directory"]) == ("/ours", "/kept")


def test_two_functions_cannot_say_the_same_variable() -> None:
    known = {name: Function(name, variables={"port": 1, name: 2}) for name in ("one", "other")}
    with pytest.raises(ValueError, match=r"port is set in one, other; set it once"):
        variables(known)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("lab", ": this folder does not exist; did you mean "),
        ("zzz", ": this folder does not exist; correct -i, which names an inventory"),
        ("labs/host.yml", ": this file does not exist; did you mean "),
        ("nosuch/hosts.yml", "/nosuch does not exist; correct -i, which names an inventory"),
    ],
)
def test_an_inventory_that_does_not_exist(path: str, message: str, tmp_path: Path) -> None:
    """It is named, and with it the one that was probably meant."""
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "hosts.yml").write_text(PLUGIN + HOSTS)
    plugin = InventoryModule()
    assert plugin.verify_file(str(tmp_path / path))
    with pytest.raises(AnsibleError) as error:
        plugin.parse(None, None, str(tmp_path / path))
    assert message in str(error.value)
    assert ("did you mean" in message) == (str(tmp_path / "labs") in str(error.value))


@pytest.mark.parametrize("path", ["a,b", "/etc/ansible/hosts", __file__])
def test_an_inventory_that_need_not_exist_or_exists(path: str) -> None:
    assert not InventoryModule().verify_file(path)
