#!/usr/bin/env python3
"""Write plugins/definitions/generated/postgresql-<version>.json, the settings that a PostgreSQL lists itself.

For each version whose programs are on this machine, or below the folder that is given: the root of another system, as
`mmdebstrap --variant=extract --include=postgresql-17 trixie DIR` makes it.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
QUERY = (
    "COPY (SELECT json_build_object('name', name, 'context', context, 'type', vartype, 'unit', unit, 'min', min_val,"
    " 'max', max_val, 'values', to_json(enumvals)) FROM pg_settings ORDER BY name) TO STDOUT\n"
)


def settings(listed: str) -> dict[str, Any]:
    """Return by name when a setting takes effect, its type and its range; what nobody can set is left out."""
    found = [json.loads(line) for line in listed.splitlines() if line.startswith("{")]
    return {
        one["name"]: {key: value for key, value in one.items() if key != "name" and value is not None}
        for one in found
        if one["context"] != "internal"
    }


def asked(root: Path, programs: str) -> str:
    """Return what the server prints, by its single-user mode, as a user without rights."""
    user = pwd.getpwnam("postgres" if Path("/var/lib/postgresql").exists() else "nobody")
    with tempfile.TemporaryDirectory(dir=root / "tmp") as folder:
        shutil.chown(folder, user.pw_uid, user.pw_gid)
        inside = f"/{Path(folder).relative_to(root)}"
        run = ["chroot", f"--userspec={user.pw_uid}:{user.pw_gid}", str(root)]
        data = f"{inside}/data"
        made = [f"{programs}/initdb", "--pgdata", data, "--username=test", "--auth=trust", "--no-sync", "--no-locale"]
        environment = {**os.environ, "LC_ALL": "C", "HOME": inside, "USER": "test"}
        subprocess.run([*run, *made], check=True, stdout=subprocess.DEVNULL, env=environment)
        single = [f"{programs}/postgres", "--single", "-D", data, "template1"]
        done = subprocess.run([*run, *single], input=QUERY, capture_output=True, text=True, check=True, env=environment)
    return done.stdout


def main() -> int:
    """Write the files anew."""
    root = Path(sys.argv[1] if sys.argv[1:] else "/").resolve()
    for folder in sorted((root / "usr/lib/postgresql").glob("*/bin")):
        version = folder.parent.name
        found = settings(asked(root, f"/usr/lib/postgresql/{version}/bin"))
        lines = [f"{json.dumps(name)}: {json.dumps(spec)}" for name, spec in found.items()]
        file = ROOT / "plugins" / "definitions" / "generated" / f"postgresql-{version}.json"
        file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        print(f"{file.relative_to(ROOT)}: {len(found)} settings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
