"""What brokers are told of keys in memory is understood by the Java here: it is no error to tell it what it ignores."""

import re
import subprocess
from pathlib import Path

UNIT = Path(__file__).parents[2] / "roles" / "kafka" / "templates" / "kafka.service.j2"


def test_a_key_in_a_store_is_encrypted_in_one_round(tmp_path: Path) -> None:
    """As keytool of the same Java writes it with this property."""
    (told,) = re.findall(r"^  (-Dkeystore\S+) ", UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    store = tmp_path / "store.p12"
    made = ["keytool", f"-J{told}", "-genkeypair", "-keyalg", "EC", "-alias", "a", "-dname", "CN=a"]
    made += ["-storetype", "PKCS12", "-keystore", str(store), "-storepass", "changeit"]
    subprocess.run(made, capture_output=True, check=True)
    shown = ["openssl", "pkcs12", "-info", "-nodes", "-passin", "pass:changeit", "-in", str(store)]
    said = subprocess.run(shown, capture_output=True, text=True, check=True)
    assert re.findall(r"^Shrouded Keybag: .*Iteration (\d+)", said.stdout + said.stderr, re.MULTILINE) == ["1"]
