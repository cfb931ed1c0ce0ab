"""Removes secrets from texts of a host, such as configuration files and journals, for the module host_support.

The name of a setting decides: the value of `ssl.key.password` is removed in each notation (properties, JSON, YAML, XML,
systemd, command lines). Some secrets are recognized without a name: PEM blocks, passwords in URLs, tokens, hashes. Too
much may be removed, for example the value of a variable that is named like a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable

REMOVED = "(removed)"

# Parts of a name after which the value is a secret.
SECRET = (
    r"passw|passphrase|passcode|(?:key|trust)?store_?pass|(?:[._-]|\b|[a-z])pass(?![a-z])|[._-]pwd(?![a-z])|bindpw"
    r"|secret|token|credential|jaas|(?:keystore|ssl|private|secret|master|api|access|signing|encryption|account|shared"
    r"|auth|stored|server|routing|service|user|integration)[._-]?key(?![a-z])|cookie|\bsalt\b|authorization(?![a-z])"
    r"|\bsig\b|webhook_url|slack_api_url"
    r"|\buser_\w+(?=\\*[\"']?\s*=\s*\\*[\"'])"  # an entry of Kafka's PlainLoginModule: user_NAME="password"
)
# Parts at the end of a name after which the value is not the secret itself.
OTHER = re.compile(
    r"(?:[._-](?:files?|paths?|locations?|dir|directory|types?|ms|seconds|timeout|enabled?|providers?|class|algorithm"
    r"|encryption|length|iterations|lifetime|interval|urls?|uri|endpoint|names?|version|mechanisms?|count|size|expiry)"
    r"|(?:File|Path|Location|Type|Class|Provider|Name)"
    r"|\.(?:properties|json|ya?ml|conf|cfg|pem|env|xml|py|java|scala|service)|^LoadCredential|^ImportCredential)$"
)
URL_SECRET = re.compile(r"webhook_url$|slack_api_url$", re.IGNORECASE)
# SECRET contains each of these, in lower case: to search for fixed words is faster.
WORDS = (
    *("pass", "pwd", "secret", "token", "credential", "jaas", "key", "cookie", "salt", "authorization", "sig"),
    *("webhook_url", "slack_api_url", "user_", "bindpw"),
)
IN_NAME = re.compile(r"[\w.$@/-]")
NAME = re.compile(rf"(?P<dashes>--?)?(?P<name>[\w.$@/-]*?(?:{SECRET})[\w.$-]*)", re.IGNORECASE)
# Between a name and its value: = or :, with quotes around the name; `value=` of a pair {name: X, value: Y}.
SEPARATOR = re.compile(
    r"(?:\[[^\[\]\n]{0,80}\])?(?P<quote>\\*[\"'])?"
    r"(?:(?:\s*,)?\s*\\*[\"']?\bvalue\\*[\"']?)?[ \t]*(?P<sign>=>|:=|={1,3}|:)(?P<blanks>[ \t]*)"
    r"|(?P<item>\"\s*,\s*(?=\"))|(?P<line>\n\s*-[ ]+(?=\S))|(?P<space>[ \t]+(?=\S))"
)
# A value that is no secret: empty, a switch, a reference to a configuration provider of Kafka, or already removed.
HARMLESS = re.compile(r"(?:null|none|true|false|yes|no|on|off|\$\{[\w.-]+:[^${}]+\}|\[hidden\]|\(removed\))?", re.I)
# A value without quotes within a line: up to a blank, a tag of XML, or the end of a text in quotes around the value.
BARE = re.compile(r"\S*?(?=[\"'][\s,;)}\]]*(?:\s|$)|</|\s|$)")

JSON_BARE = re.compile(r"[^\s,}\]]*")  # a number
ESCAPED_QUOTE = re.compile(r"(?P<slashes>\\+)(?P<mark>[\"'])")
AFTER_QUOTES = re.compile(r"[^\s,;&)}\]<>:/\"'\\]*")
MOST = 20_000
"""Longest list or object that is removed, in characters: its end may be missing, in a journal for example."""
CREDENTIALS = ("LoadCredential", "ImportCredential")

PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
CUT_PEM = re.compile(r"\A(?:(?!-----BEGIN ).)*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----", re.DOTALL)
VAULT = re.compile(r"\$ANSIBLE_VAULT;[^\n]*(?:\n[ \t]*[0-9a-f]{20,})*")
XML = re.compile(
    rf"(?P<head><(?P<tag>[\w:.-]*(?:{SECRET})[\w:.-]*)(?:\s[^<>]*)?(?<!/)>"
    rf"|<name>\s*(?P<key>[\w.-]*(?:{SECRET})[\w.-]*)\s*</name>\s*<value>"
    rf"|\bname=[\"'](?P<name>[\w.-]*(?:{SECRET})[\w.-]*)[\"'][^<>]*?(?:(?<!/)>|\bvalue=(?P<quote>[\"'])))"
    r"(?P<value>(?(quote)(?:(?!(?P=quote)).)*|(?:(?!</).)*))",
    re.DOTALL | re.IGNORECASE,
)
# Secrets that no name of a setting announces; the group `secret` is removed.
# Each with words of which one is in a text that the pattern matches, in lower case.
PATTERNS = tuple(
    (words, re.compile(pattern))
    for words, pattern in (
        (("://",), r"://[^\s/:@\"'<>,]*:(?!\d{1,5}(?:[/,\s?]|$))(?P<secret>[^\s\"'<>]+)(?=@)"),
        (
            ("bearer", "basic", "digest", "negotiate", "sharedaccess"),
            r"(?i:\bBearer|\bBasic|\bDigest|\bNegotiate|\bSharedAccessSignature)\s+"
            r"(?P<secret>[A-Za-z0-9+/_.~-]{16,}=*)",
        ),
        (
            ("-u", "--user", "--proxy-user"),
            r"(?:\s|\A|[\"'])(?:-u|--user|--proxy-user)[ =]+[\"']?[^\s:\"'/]+:(?P<secret>[^\s\"']+)",
        ),
        (("sshpass",), r"\bsshpass\s+-p\s*(?P<secret>\S+)"),
        (("eyj",), r"(?P<secret>\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"),
        (
            ("akia", "asia", "gh", "glpat-", "xox"),
            r"(?P<secret>\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[a-z]_\w{20,}|\bglpat-[\w-]{16,}|\bxox[a-z]-[\w-]{10,})",
        ),
        (("hooks.slack",), r"hooks\.slack\.com/services/(?P<secret>[^\s\"'<>]+)"),
        (("scram-sha-",), r"SCRAM-SHA-\d+\$\d+:(?P<secret>[^\s\"',]+)"),
        (("$",), r"(?P<secret>\$(?:1|2[abxy]|5|6|7|y|argon2\w*)\$[./A-Za-z0-9$=,+]{10,})"),
        (("identified",), r"(?i:\bIDENTIFIED\s+BY)\s+(?P<secret>'[^']*'|\S+)"),
    )
)


def redacted(text: str) -> tuple[str, int]:
    """Return (text with `(removed)` in place of each secret, how many were removed)."""
    total = 0
    for word, pattern in (("PRIVATE KEY", PEM), ("PRIVATE KEY", CUT_PEM), ("$ANSIBLE_VAULT", VAULT)):
        text, number = pattern.subn(REMOVED, text) if word in text else (text, 0)
        total += number
    if "</" in text or "/>" in text:
        text, number = _replaced(text, XML, _is_secret_element, "value")
        total += number
    lower = text.lower()
    for words, pattern in PATTERNS:
        if any(word in lower for word in words):
            text, number = _replaced(text, pattern, lambda _: True, "secret")
            total += number
    text, number = _named(text)
    return text, total + number


def _is_secret_element(match: re.Match[str]) -> bool:
    return not OTHER.search(match["tag"] or match["key"] or match["name"])


def _replaced(
    text: str, pattern: re.Pattern[str], accept: Callable[[re.Match[str]], bool], group: str
) -> tuple[str, int]:
    """Return `text` with one group of each accepted match removed, and how many were removed."""
    parts, at, number = list[str](), 0, 0
    for match in pattern.finditer(text):
        if accept(match) and not HARMLESS.fullmatch(match[group].strip()):
            parts += [text[at : match.start(group)], REMOVED]
            at, number = match.end(group), number + 1
    return "".join([*parts, text[at:]]), number


def _named(text: str) -> tuple[str, int]:
    """Return `text` without the values that follow the name of a secret, and how many were removed."""
    parts, at, number, search = list[str](), 0, 0, 0
    for begin in _tokens(text):
        match = NAME.match(text, begin) if begin >= search else None
        if not match:
            continue
        search = match.end()
        separator = SEPARATOR.match(text, search)
        if not separator or not _is_pair(text, match, separator):
            if match["name"] in CREDENTIALS:  # NAME:PATH
                search = _line_end(text, search)
            continue
        start = separator.end()
        end = _end(text, match, separator)
        value = text[start:end]
        search = max(search, start)
        if HARMLESS.fullmatch(value.strip().strip("\\\"'")) or value.startswith(REMOVED):
            continue
        parts += [text[at:start], _removed(value, separator["quote"] or "")]
        at = search = end
        number += 1
    return "".join([*parts, text[at:]]), number


def _tokens(text: str) -> list[int]:
    """Return where the tokens begin that may be the name of a secret."""
    lower = text.lower()
    if len(lower) != len(text):  # a letter of which the lower case has more characters
        lower = "".join(letter.lower() if letter.isascii() else "?" for letter in text)
    begins = set[int]()
    for word in WORDS:
        at = lower.find(word)
        while at >= 0:
            begin = at
            while begin and IN_NAME.match(text[begin - 1]):
                begin -= 1
            begins.add(begin)
            at = lower.find(word, at + len(word))
    return sorted(begins)


def _is_pair(text: str, match: re.Match[str], separator: re.Match[str]) -> bool:
    """Tell whether a name is that of a secret, and what follows it is its value."""
    name = match["name"]
    if OTHER.search(name) and not URL_SECRET.search(name):
        return False
    if separator["sign"]:
        return True
    if separator["item"] is not None or separator["line"] is not None:
        return bool(match["dashes"])
    following = text[separator.end()]
    if match["dashes"]:
        return following != "-"
    # `ssl.key.password secret`, as in Java's properties; PASSWORD 'secret', as in SQL
    return following in "\"'" or ("." in name and _begins_line(text, match.start()))


def _begins_line(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return re.fullmatch(r"\s*(?:[-#;!]\s*)*(?:export\s+|set\s+|local\s+)?[\"']?", line) is not None


def _end(text: str, match: re.Match[str], separator: re.Match[str]) -> int:
    """Return the position after the value that begins at the end of `separator`."""
    start = separator.end()
    begins_line, line = _begins_line(text, match.start()), _line_end(text, start)
    is_property = begins_line and "." in match["name"] and not separator["quote"]  # quotes are a part of its value
    if escaped := ESCAPED_QUOTE.match(text, start):
        return _after_escaped(text, escaped)
    if text[start : start + 1] in ("'", '"') and not is_property:
        return _after_quotes(text, start)
    before = text[match.start() - 1 : match.start()]
    if before in ("'", '"') and not separator["quote"]:  # "PASSWORD=a b"
        end = _after_quotes(text, match.start() - 1)
        return end - 1 if text[end - 1] == before else end
    bracket = _after_brackets(text, start) if text[start : start + 1] in ("{", "[") else start
    if separator["quote"]:
        return bracket if bracket > start else JSON_BARE.match(text, start, line).end()  # type: ignore[union-attr]
    if not begins_line and not match["name"].lower().endswith("authorization"):
        return max(bracket, BARE.match(text, start, line).end())  # type: ignore[union-attr]
    if separator["sign"] == ":" and re.fullmatch(r"[|>][-+\d]*|", text[start:line].strip()):
        return _after_indented(text, match.start(), line)
    while line < len(text) and re.search(r"(?<!\\)(?:\\\\)*\\$", text[start:line]):  # the next line continues this one
        line = _line_end(text, line + 1)
    return max(bracket, line)


def _after_escaped(text: str, opening: re.Match[str]) -> int:
    """Return the position after a text in quotes with backslashes, as JSON in a text of JSON has them.

    With one backslash before a quote of the inner JSON, three are before a quote in its text, and four are a backslash.
    """
    depth = len(opening["slashes"])
    for found in re.compile(rf"(?P<slashes>\\+){opening['mark']}").finditer(text, opening.end()):
        if len(found["slashes"]) % (2 * depth + 2) == depth:
            return found.end()
    return _line_end(text, opening.end())


def _after_quotes(text: str, start: int) -> int:
    """Return the position after the text in quotes at `start`; without a closing quote, the end of the line.

    What directly follows belongs to the text: 'it''s' in YAML, 'it'"'"'s' in a shell.
    """
    at = start
    while text[at : at + 1] in ("'", '"'):
        quote = text[at]
        found = re.compile(rf"{quote}(?:[^{quote}\\]|\\.)*{quote}", re.DOTALL).match(text, at)
        if not found:
            return _line_end(text, at)
        at = AFTER_QUOTES.match(text, found.end()).end()  # type: ignore[union-attr]
    return at


def _after_brackets(text: str, start: int) -> int:
    """Return the position after the list or the object at `start`, also a nested one; at most MOST characters."""
    depth, limit = 0, min(len(text), start + MOST)
    tokens = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[{}\[\]]", re.DOTALL)
    for token in tokens.finditer(text, start, limit):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
            if not depth:
                return token.end()
    return limit


def _after_indented(text: str, name: int, line: int) -> int:
    """Return the end of the lines after `line` that are indented deeper than the name, as a block in YAML."""
    begin = text.rfind("\n", 0, name) + 1
    indent = len(re.match(r"[ -]*", text[begin:name])[0])  # type: ignore[index]
    while line < len(text):
        following = _line_end(text, line + 1)
        content = text[line + 1 : following]
        if content.strip() and len(content) - len(content.lstrip(" ")) <= indent:
            break
        line = following
    return line


def _removed(value: str, quote: str) -> str:
    """Return what replaces a value; `quote` is after its name. The quotes of the value remain, for JSON to be valid."""
    if found := re.match(r"\\*[\"']", value):
        return f"{found[0]}{REMOVED}{found[0]}"
    if value[:1] in "{[":
        return f"{quote}{REMOVED}{quote}"
    return value[: len(value) - len(value.lstrip(" \t"))] + REMOVED


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found
