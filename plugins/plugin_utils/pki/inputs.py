"""What the inputs of the role pki have wrong by themselves, before any file is read; no Ansible import."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import address
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem

DECLARE = "declare it in pki_authorities"


def mistakes(host: str, settings: Mapping[str, Any]) -> list[Problem]:
    """Return every mistake of one host's `settings`: the inputs of the role pki without their prefix."""
    parts = (of_certificates, of_duplicates, of_truststores, of_names, of_life, of_source)
    return [replace(problem, hosts=(host,)) for part in parts for problem in part(settings)]


def mistake(variable: str, code: str, value: str | None, wrong: str, advice: str) -> Problem:
    """Return one mistake, of no host yet."""
    return Problem((), variable, f"CERTIFICATE_{code}", value, wrong, advice)


def authorities(settings: Mapping[str, Any]) -> set[str]:
    """Return the names of the CAs."""
    return {item["name"] for item in settings["authorities"]}


def of_certificates(settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with a certificate's own declaration."""
    known = authorities(settings)
    trusted = {name for store in settings["truststores"] for name in store["authorities"]}
    for item in settings["certificates"]:
        variable = f"pki_certificates[{item['name']}]"
        if trusted and item["authority"] in known - trusted and {*item["usage"]} == {"server", "client"}:
            wrong = "a host that is server and client of its like, and its truststores lack this CA: "
            advice = "trust the CA before it is used"
            yield mistake(variable, "UNTRUSTED", item["authority"], f"{wrong}they would refuse one another", advice)
        if item["authority"] not in known:
            yield mistake(variable, "AUTHORITY", item["authority"], "no CA of this name", DECLARE)
        if item["path"] and not item["path"].startswith("/"):
            yield mistake(variable, "PATH", item["path"], "not a path from / on", "write it from / on")
        for name in item["names"]:
            if not re.fullmatch(r"(\*\.)?[A-Za-z0-9_.-]+", name) and not address(name):
                wrong = "no DNS name and no address"
                yield mistake(variable, "NAME", name, wrong, "write it as dc1-kafka1.example.org or 198.51.100.7")


def of_duplicates(settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield each name and each path of a certificate that an earlier one has."""
    names = [item["name"] for item in settings["certificates"]]
    for name in (name for number, name in enumerate(names) if name in names[:number]):
        yield mistake("pki_certificates", "DUPLICATE", name, "two certificates have this name", "give each its own")
    stores = [(f"pki_truststores[{store['path']}]", store["path"]) for store in settings["truststores"]]
    seen: set[str] = set()
    for place, path in stores + [
        (f"pki_certificates[{one['name']}].path", one["path"]) for one in settings["certificates"]
    ]:
        if path in seen:
            yield mistake(place, "DUPLICATE", path, "two files have this path", "give each its own")
        seen |= {path} if path else set()


def of_truststores(settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with a bundle; the control node keeps it under its file name, beside the certificates."""
    held: dict[str, Mapping[str, Any]] = {}
    certificates = {item["name"] for item in settings["certificates"]}
    for store in settings["truststores"]:
        variable, file = f"pki_truststores[{store['path']}]", os.path.basename(store["path"])
        other = held.setdefault(file, store)
        if os.path.splitext(file)[0] in certificates:
            wrong = "would have the file of the certificate of that name on the control node"
            yield mistake(variable, "DUPLICATE", None, wrong, "give one of the two another name")
        if store["path"] != other["path"] and any(store[key] != other[key] for key in ("authorities", "extra")):
            wrong = f"has the file name of {other['path']} and other CAs, and both are kept under that name "
            yield mistake(variable, "DUPLICATE", None, f"{wrong}on the control node", "give it another file name")
        for name in {*store["authorities"]} - authorities(settings):
            yield mistake(variable, "AUTHORITY", name, "no CA of this name", DECLARE)


def of_names(settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield each name that cannot be that of a file."""
    for name in [*authorities(settings), *(item["name"] for item in settings["certificates"])]:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
            advice = "use letters, digits, dots, dashes"
            yield mistake("pki_certificates", "NAME", name, "names a file, and cannot", advice)


def of_life(settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a life of certificates that is too short for them to be kept."""
    if settings["days"] <= settings["renew_days"]:
        wrong = f"not more than pki_renew_days ({settings['renew_days']}), so every run would renew"
        yield mistake("pki_days", "DAYS", str(settings["days"]), wrong, "give certificates a longer life")


def of_source(settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a source of a host's certificates that is an outside CA, where the CAs are our own: it answers nobody."""
    outside = {item["name"] for item in settings["authorities"] if item["certificate"]}
    asked = {item["authority"] for item in settings["certificates"] if not item["source"]}
    own = sorted(asked & authorities(settings) - outside)
    if settings["source"] == "csr" and own:
        wrong = f"requests go to an outside CA, and {' and '.join(own)} of pki_authorities has no certificate of one, "
        wrong += "so it is ours: what is signed elsewhere would not be trusted"
        advice = "name the outside CA's certificate there, or leave pki_source out"
        yield mistake("pki_source", "SOURCE", "csr", wrong, advice)
