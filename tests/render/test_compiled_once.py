"""What Ansible itself has compiled in a run: once for all processes, where an inventory of this project is read."""

from pathlib import Path
from typing import Any

import pytest
from ansible import constants as C
from ansible._internal._datatag._tags import Origin
from ansible._internal._templating import _engine
from ansible._internal._templating._jinja_bits import AnsibleEnvironment
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import filter_loader
from ansible.template import Templar, trust_as_template

from ansible_collections.millrace.kafka.plugins.plugin_utils.ansible_internals import find_collections
from ansible_collections.millrace.kafka.plugins.plugin_utils.forked import forked
from render.site import ROOT


def test_tasks_share_what_is_compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Texts and conditions, and a filter is looked for once; a mistake is said as ever."""
    monkeypatch.setattr(C, "DEFAULT_LOCAL_TMP", str(tmp_path))
    monkeypatch.setattr(_engine, "AnsibleEnvironment", AnsibleEnvironment)
    find_collections()
    InventoryManager(loader=DataLoader(), sources=[str(ROOT / "inventories" / "lab")])
    here = Origin(path=str(tmp_path / "play.yml"))
    text, condition, wrong = (
        here.tag(trust_as_template(words))
        for words in ("{{ name | millrace.kafka.service_directory('a') }}", "name is not match('b.*')", "name == ")
    )

    def in_another(compiles: bool) -> str:
        def rendered() -> None:
            if not compiles:
                monkeypatch.setattr(AnsibleEnvironment, "_generate", None)
            asked, get = list[str](), filter_loader.get

            def counted(name: str) -> Any:
                asked.append(name)
                return get(name)

            monkeypatch.setattr(filter_loader, "get", counted)
            for name in ("/a", "b"):
                templar = Templar(loader=DataLoader(), variables={"name": name})
                print(templar.template(text)["path"], templar.evaluate_conditional(condition))
            try:
                templar.evaluate_conditional(wrong)
            except Exception as error:
                print(str(error).splitlines()[0])
            print(asked.count("millrace.kafka.service_directory"))

        return forked(rendered)[1]

    first = in_another(compiles=True)
    assert first.splitlines()[:2] == ["/a True", "b False"], first
    assert "Syntax error in expression" in first.splitlines()[2] and first.splitlines()[3] == "1", first
    assert in_another(compiles=False) == first
