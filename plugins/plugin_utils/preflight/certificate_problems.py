"""Checks the certificates of an inventory with the code of the role pki."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.ca_replacement import PreviousState
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.outside import (
    CERTIFICATE_UNSIGNED,
    CERTIFICATE_UNSIGNED_SEVERAL,
)
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.pki import Pki
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem, ProblemKind
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec

CERTIFICATE_FOLDER = ProblemKind("CERTIFICATE_FOLDER", "cannot be read: {error}", "correct the path or its permissions")


def certificate_problems(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield the problems of the certificates that an inventory declares; existing files are read, nothing is written.

    A certificate that an outside CA has not signed yet is only a warning: the run must be able to write the signing
    request that the CA needs.
    """
    options, previous, unsigned = argument_spec("pki"), None, list[Problem]()
    for host in model.function_hosts:
        if not reader.are_valid(host, options):
            continue
        given = {name: model.hosts[host][name] for name in options if name in model.hosts[host]}
        # Without Ansible's tags on each text: the validator would copy them all.
        plain = json.loads(json.dumps(given, default=str))
        settings = ArgumentSpecValidator(options).validate(plain).validated_parameters
        previous = previous or PreviousState(Path(settings["pki_directory"]))
        without_prefix = {name.removeprefix("pki_"): value for name, value in settings.items()}
        pki = Pki(host, without_prefix, check_mode=True, previous=previous)
        try:
            pki.converge()
        except OSError as error:
            folder = settings["pki_directory"]
            yield CERTIFICATE_FOLDER.problem((host,), "pki_directory", folder, error=error.strerror)
        for problem in pki.problems:
            if problem.code == CERTIFICATE_UNSIGNED.code:
                unsigned.append(replace(problem, warning=True))
            else:
                yield problem
    yield from _unsigned(unsigned)


def _unsigned(problems: Sequence[Problem]) -> Iterator[Problem]:
    """Yield the warnings of certificates that are not signed yet; several become one warning that names the folders."""
    if len(problems) < 2:
        yield from problems
        return
    signed, requests = ([Path(problem.details[key]) for problem in problems] for key in ("signed", "request"))
    yield CERTIFICATE_UNSIGNED_SEVERAL.problem(
        tuple(dict.fromkeys(host for problem in problems for host in problem.hosts)),
        "pki_certificates",
        problems[0].value,
        warning=True,
        number=len(signed),
        signed=list(dict.fromkeys(str(file.parent) for file in signed)),
        example=signed[0].name,
        requests=list(dict.fromkeys(str(file.parent) for file in requests)),
    )
