"""Properties files, written and read, against java.util.Properties itself."""

import json
import subprocess
from pathlib import Path

from ansible_collections.millrace.kafka.plugins.filter.properties import properties
from ansible_collections.millrace.kafka.plugins.module_utils.host.properties import line, pairs
from ansible_collections.millrace.kafka.plugins.plugin_utils.property_values import fault

# Prints what Java reads from each file as the digits of its UTF-16, and what Java itself writes of it.
JAVA = """
import java.io.*;
import java.util.*;

class Read {
    static String hex(String text) {
        StringBuilder found = new StringBuilder();
        for (char c : text.toCharArray()) found.append(String.format("%04x", (int) c));
        return found.toString();
    }

    public static void main(String[] files) throws IOException {
        for (String file : files) {
            Properties read = new Properties();
            try (InputStream stream = new FileInputStream(file)) {
                read.load(stream);
            }
            for (String key : read.stringPropertyNames()) {
                System.out.println(file + " " + hex(key) + " " + hex(read.getProperty(key)));
            }
            try (OutputStream stream = new FileOutputStream(file + ".stored")) {
                read.store(stream, "by Java: # ! = \\u00e9");
            }
        }
    }
}
"""
RULE = r"RULE:^CN=([^,]+)\.example\.com,OU=(a|b)\\?$/$1/L,DEFAULT"
SETTINGS = {
    "listener.name.client.ssl.principal.mapping.rules": RULE,
    "ssl.keystore.password": "back\\slash, new\\nline that is none, \\u0041, end\\",
    "sasl.jaas.config": 'org.example.Login required password="a\\\\b\\"c=:#!";',
    "blank.first": "  \ttwo blanks and a tab",
    "blank.last": "one blank ",
    "lines": "-----BEGIN\nMII=\r\n\n-----END\n",
    "umlaut": "Zürich, ÿ, Ā, 日本, 😀, \x7f, \x80, \x01\f",
    "empty": "",
    "comment": "#no ! comment",
    "signs": "a=b:c=d",
    "key with blanks = and : signs": "x",
    "#key": "no comment",
    "!key": "no comment",
    "a#b!": "inside",
    "key\\of\ttabs\né": "y",
    "": "no key",
}
# As people and other programs write them.
BY_HAND = """\
# a comment \\
! another
 \t key.one : value one \t
key.two value = two
key\\ three\\:x=three
four=a,\\
    b,\\
\t  # c
five
six=odd \\\\\\
more
seven=even \\\\
eight=\\q\\z\\u00e9\\t.
nine=
ten==:ten
twice=1
twice=2
last=\\"""


def in_java(folder: Path, *texts: str) -> tuple[list[dict[str, str]], list[str]]:
    """Return what Java reads from each text, and what it writes then."""
    (folder / "Read.java").write_text(JAVA)
    files = [folder / f"{number}.properties" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="ascii", newline="")
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "Read.java", *map(str, files)],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, str]] = {str(file): {} for file in files}
    for printed in done.stdout.splitlines():
        file_name, *digits = printed.split(" ")
        key, value = (bytes.fromhex(part).decode("utf-16-be") for part in digits)
        found[file_name][key] = value
    return list(found.values()), [file.with_suffix(".properties.stored").read_text("latin-1") for file in files]


def test_java_reads_what_is_written(tmp_path: Path) -> None:
    """Every character of keys and values; and of any file, ours, Java's own and people's, the same is read here."""
    ours = "\n".join(["# ours", *(line(*pair) for pair in sorted(SETTINGS.items())), ""])
    read, stored = in_java(tmp_path, ours, BY_HAND)
    assert read[0] == SETTINGS
    assert dict(pairs(ours)) == SETTINGS
    assert dict(pairs(BY_HAND)) == read[1], json.dumps(read[1], indent=1)
    assert [dict(pairs(text)) for text in stored] == read


def test_what_needs_no_escape_is_left_as_it_is() -> None:
    """So that a file of before is the same, and no restart is owed for nothing."""
    plain = "RULE:^CN=([^,]+),OU=admins,O=lab$/$1/,DEFAULT #! = : end "
    assert line("listener.name.client.ssl.rules", plain) == f"listener.name.client.ssl.rules={plain}"


def test_blanks_at_the_ends() -> None:
    """Checks do not see them, so they are not written: a broker would not start with them. A password keeps them."""
    spec = {"type": "string", "choices": ["gzip", "zstd"]}
    settings = {"compression.type": " zstd\n", "ssl.protocols": ["TLSv1.3 ", "TLSv1.2"], "ssl.key.password": " a b "}
    assert fault(spec, settings["compression.type"]) is None
    assert properties(settings) == [
        "compression.type=zstd",
        r"ssl.key.password=\ a b ",
        "ssl.protocols=TLSv1.3,TLSv1.2",
    ]


def test_a_backslash_is_written_twice() -> None:
    """Java took it for an escape: the rule lost its backslashes, and a password was another one."""
    assert properties({"a.rules": [r"RULE:^CN=([^,]+)\.example\.com$/$1/", "DEFAULT"]}) == [
        r"a.rules=RULE:^CN=([^,]+)\\.example\\.com$/$1/,DEFAULT"
    ]
