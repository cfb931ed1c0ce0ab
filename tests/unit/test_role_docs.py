"""The roles' interfaces: README tables, argument specs, defaults and the inputs that tasks use say the same."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(folder.name for folder in (ROOT / "roles").iterdir())
GENERATOR = ROOT / "tests" / "generate_role_docs.py"


def load() -> ModuleType:
    """Return the generator, which is a script."""
    spec = importlib.util.spec_from_file_location("generate_role_docs", GENERATOR)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generator = load()


def options(role: str) -> dict[str, Any]:
    """Return the options of a role's main entry point."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "roles" / role / "meta" / "argument_specs.yml").read_text())[
        "argument_specs"
    ]["main"]["options"]
    return found


def defaults_text(role: str) -> str:
    """Return defaults/main.yml, '' for a role without."""
    path = ROOT / "roles" / role / "defaults" / "main.yml"
    return path.read_text() if path.exists() else ""


def test_the_readmes_are_generated_from_the_specs() -> None:
    """What a person runs to find out."""
    done = subprocess.run([sys.executable, str(GENERATOR), "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_defaults_are_those_of_the_specs() -> None:
    """defaults/main.yml sets what has a default, and shows the other inputs commented out: the whole interface."""
    wrong = []
    for role in ROLES:
        text, inputs = defaults_text(role), options(role)
        found = yaml.safe_load(text) or {}
        wanted = {name: option["default"] for name, option in inputs.items() if "default" in option}
        wrong += [f"{role}: {name}" for name in found if name not in wanted]
        wrong += [f"{role}: {name}" for name, value in wanted.items() if found.get(name, wrong) != value]
        commented = set(re.findall(r"^# ([a-z_]+): ", text, re.MULTILINE))
        wrong += [f"{role}: # {name}" for name in commented ^ (inputs.keys() - wanted) if text]
    assert wrong == []


def test_names_carry_the_role() -> None:
    assert [name for role in ROLES for name in options(role) if not name.startswith(f"{role}_")] == []


SPECS: dict[str, Any] = {
    "argument_specs": {
        "main": {
            "options": {
                "x_id": {"type": "int", "required": True, "description": "An id."},
                "x_name": {"type": "str", "default": "a", "choices": ["a", "b"], "description": "A <name> | more."},
                "x_list": {
                    "type": "list",
                    "elements": "dict",
                    "default": [],
                    "description": "Items.",
                    "options": {
                        "port": {"type": "int", "default": 1, "description": "A port."},
                        "flags": {
                            "type": "dict",
                            "description": "Flags.",
                            "options": {"on": {"type": "bool", "default": True, "description": "On."}},
                        },
                    },
                },
                "x_dict": {"type": "dict", "default": {"a": 1, "b": [True]}, "description": "A dict."},
            }
        }
    }
}
TABLE = """\
| Name | Type | Required | Default | Description |
| --- | --- | --- | --- | --- |
| `x_id` | int | yes | | An id. |
| `x_name` | str | | `a` | A &lt;name> \\| more. One of: `a`, `b`. |
| `x_list` | list of dict | | `[]` | Items. |
| `x_list[].port` | int | | `1` | A port. |
| `x_list[].flags` | dict | | | Flags. |
| `x_list[].flags.on` | bool | | `true` | On. |
| `x_dict` | dict | | `{a: 1, b: [true]}` | A dict. |"""


def role_with(folder: Path, readme: str) -> Path:
    """Return a role of the made-up specs."""
    (folder / "meta").mkdir()
    (folder / "meta" / "argument_specs.yml").write_text(yaml.safe_dump(SPECS, sort_keys=False))
    (folder / "README.md").write_text(readme)
    return folder


def test_a_table() -> None:
    """Every option, those of elements too."""
    assert generator.table(SPECS) == TABLE


def test_only_what_is_between_the_marks_is_written(tmp_path: Path) -> None:
    role = role_with(tmp_path, f"before\n{generator.BEGIN}\nold\n{generator.END}\nafter\n")
    assert generator.generate(role) == f"before\n{generator.BEGIN}\n\n{TABLE}\n\n{generator.END}\nafter\n"


def test_a_readme_without_marks(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"README\.md: no single place for what is generated, .*<!-- inputs: end -->"):
        generator.generate(role_with(tmp_path, "# a role\n"))


def test_defaults_that_have_no_effect_on_a_site_say_so() -> None:
    """Where functions/*.yml say a word, who changes the role's default changes nothing for any site."""
    said: set[str] = set()
    for file in (ROOT / "functions").glob("*.yml"):
        said |= yaml.safe_load(file.read_text()).get("variables", {}).keys()
    lines = re.findall(r"^(?:# )?(\w+):(?=\s)(.*)$", "\n".join(map(defaults_text, ROLES)), re.MULTILINE)
    assert len(lines) > 100
    assert [name for name, rest in lines if rest.endswith(" (groups)") != (name in said)] == []
