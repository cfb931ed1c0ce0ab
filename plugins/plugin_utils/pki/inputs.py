"""Checks the inputs of the role pki before any file is read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.certificates import address
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind


def input_problems(host: str, settings: Mapping[str, Any]) -> list[Problem]:
    """Return the problems of the role pki's inputs on one host.

    `settings` is {input of the role pki without the prefix `pki_`: value}.
    """
    checks = (declarations, duplicates, truststores, file_names, renewal, source)
    return [replace(problem, hosts=(host,)) for check in checks for problem in check(settings)]


def authority_names(settings: Mapping[str, Any]) -> set[str]:
    """Return the names of the CAs that pki_authorities declares.

    `settings` is {input of the role pki without the prefix `pki_`: value}.
    """
    return {item["name"] for item in settings["authorities"]}


CERTIFICATE_UNTRUSTED = ProblemKind(
    "CERTIFICATE_UNTRUSTED",
    "the host is server and client, but its truststores do not contain this CA: hosts with such certificates would "
    "reject one another",
    "first add the CA to the truststores (pki_truststores)",
)
CERTIFICATE_AUTHORITY = ProblemKind("CERTIFICATE_AUTHORITY", "no CA has this name", "declare it in pki_authorities")
CERTIFICATE_PATH = ProblemKind("CERTIFICATE_PATH", "not an absolute path", "write an absolute path")
CERTIFICATE_PATH_FILE = CERTIFICATE_PATH.variant(
    message="ends with /, but this is the path of a file", advice="write {plain}"
)
CERTIFICATE_NAME = ProblemKind(
    "CERTIFICATE_NAME",
    "neither a DNS name nor an address",
    "write it as dc1-kafka1.example.org or 198.51.100.7",
)
CERTIFICATE_NAME_FILE = CERTIFICATE_NAME.variant(
    message="not a valid file name, but files are named after it", advice="use letters, digits, dots and dashes"
)


def declarations(settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each entry of pki_certificates with an unknown or untrusted CA, or an invalid path or name.

    `settings` is {input of the role pki without the prefix `pki_`: value}.
    """
    known = authority_names(settings)
    trusted = {name for store in settings["truststores"] for name in store["authorities"]}
    for item in settings["certificates"]:
        variable, authority = f"pki_certificates[{item['name']}]", item["authority"]
        if trusted and authority in known - trusted and {*item["usage"]} == {"server", "client"}:
            yield CERTIFICATE_UNTRUSTED.problem((), variable, authority)
        if authority not in known:
            yield CERTIFICATE_AUTHORITY.problem((), variable, authority)
        if item["path"] and not item["path"].startswith("/"):
            yield CERTIFICATE_PATH.problem((), variable, item["path"])
        elif (item["path"] or "").endswith("/"):
            yield CERTIFICATE_PATH_FILE.problem((), variable, item["path"], plain=item["path"].rstrip("/"))
        for name in item["names"]:
            if not re.fullmatch(r"(\*\.)?[A-Za-z0-9_.-]+", name) and not address(name):
                yield CERTIFICATE_NAME.problem((), variable, name)


CERTIFICATE_DUPLICATE = ProblemKind(
    "CERTIFICATE_DUPLICATE", "two certificates have this name", "give each certificate another name"
)
CERTIFICATE_DUPLICATE_PATH = CERTIFICATE_DUPLICATE.variant(
    message="two files have this path", advice="give each file another path"
)
CERTIFICATE_DUPLICATE_STORE = CERTIFICATE_DUPLICATE.variant(
    message="the control node would store this truststore in the file of the certificate with the same name",
    advice="rename the truststore or the certificate",
)
CERTIFICATE_DUPLICATE_BUNDLE = CERTIFICATE_DUPLICATE.variant(
    message="{other} has the same file name and other CAs, but the control node stores both truststores under that "
    "name",
    advice="give it another file name",
)


def duplicates(settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each name or path that an earlier certificate or truststore already has.

    `settings` is {input of the role pki without the prefix `pki_`: value}.
    """
    names = [item["name"] for item in settings["certificates"]]
    for name in (name for number, name in enumerate(names) if name in names[:number]):
        yield CERTIFICATE_DUPLICATE.problem((), "pki_certificates", name)
    stores = [(f"pki_truststores[{store['path']}]", store["path"]) for store in settings["truststores"]]
    seen: set[str] = set()
    for place, path in stores + [
        (f"pki_certificates[{item['name']}].path", item["path"]) for item in settings["certificates"]
    ]:
        if path in seen:
            yield CERTIFICATE_DUPLICATE_PATH.problem((), place, path)
        seen |= {path} if path else set()


def truststores(settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each truststore that has an unknown CA, or the file name of another file.

    The control node stores each truststore under its file name, next to the certificates. `settings` is {input of the
    role pki without the prefix `pki_`: value}.
    """
    by_file: dict[str, Mapping[str, Any]] = {}
    certificates = {item["name"] for item in settings["certificates"]}
    for store in settings["truststores"]:
        variable, file = f"pki_truststores[{store['path']}]", os.path.basename(store["path"])
        if store["path"].endswith("/"):
            yield CERTIFICATE_PATH_FILE.problem((), variable, store["path"], plain=store["path"].rstrip("/"))
            continue
        other = by_file.setdefault(file, store)
        if os.path.splitext(file)[0] in certificates:
            yield CERTIFICATE_DUPLICATE_STORE.problem((), variable)
        if store["path"] != other["path"] and any(store[key] != other[key] for key in ("authorities", "extra")):
            yield CERTIFICATE_DUPLICATE_BUNDLE.problem((), variable, other=other["path"])
        for name in {*store["authorities"]} - authority_names(settings):
            yield CERTIFICATE_AUTHORITY.problem((), variable, name)


def file_names(settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each name of a CA or certificate that is not a valid file name.

    `settings` is {input of the role pki without the prefix `pki_`: value}.
    """
    for name in [*authority_names(settings), *(item["name"] for item in settings["certificates"])]:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
            yield CERTIFICATE_NAME_FILE.problem((), "pki_certificates", name)


CERTIFICATE_DAYS = ProblemKind(
    "CERTIFICATE_DAYS",
    "not more than pki_renew_days ({renew_days}): every run would renew the certificates",
    "raise it above {renew_days} (default: 397)",
)
CERTIFICATE_DAYS_CA = CERTIFICATE_DAYS.variant(
    message="certificates are renewed {renew_days} days before their end, but the CA itself lasts {life} days",
    advice="lower it below pki_days (default: 30)",
)
LIFE = 3650  # default days of a CA (roles/pki)


def renewal(settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem if pki_renew_days is so high that certificates are due for renewal as soon as they are issued.

    `settings` is {input of the role pki without the prefix `pki_`: value}.
    """
    if settings["days"] <= settings["renew_days"]:
        days, renew_days = str(settings["days"]), settings["renew_days"]
        own = [item for item in settings["authorities"] if not item["certificate"]]
        life = min((item.get("days") or LIFE for item in own), default=0)
        if life and renew_days >= life:  # no pki_days would be right: see CERTIFICATE_LONG and AUTHORITY_SHORT
            days, details = str(renew_days), {"renew_days": renew_days, "life": life}
            yield CERTIFICATE_DAYS_CA.problem((), "pki_renew_days", days, **details)
        else:
            yield CERTIFICATE_DAYS.problem((), "pki_days", days, renew_days=renew_days)


CERTIFICATE_SOURCE = ProblemKind(
    "CERTIFICATE_SOURCE",
    "csr sends requests to an outside CA, but {authorities} in pki_authorities has no `certificate`, so this project "
    "creates that CA: certificates of the outside CA would not be trusted",
    "set `certificate` of that CA to the certificate of the outside CA, or remove pki_source",
)


def source(settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem if pki_source is csr (an outside CA signs), but the declared CAs are created on the control node.

    No host would trust the outside CA. `settings` is {input of the role pki without the prefix `pki_`: value}.
    """
    outside = {item["name"] for item in settings["authorities"] if item["certificate"]}
    used = {item["authority"] for item in settings["certificates"] if not item["source"]}
    created_here = sorted(used & authority_names(settings) - outside)
    if settings["source"] == "csr" and created_here:
        yield CERTIFICATE_SOURCE.problem((), "pki_source", "csr", authorities=created_here)
