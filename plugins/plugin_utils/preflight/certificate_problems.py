"""What is wrong with the certificates of an inventory, as the role pki itself judges them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.pki import Pki
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.rotation import Before
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec

# How pki/outside.py says where the answer of an outside CA is missing, and where its request is.
ANSWER = re.compile(r"the signed certificate (.*) is missing$")
REQUEST = re.compile(r"have (.*) signed, ")


def _unsigned(found: Sequence[Problem]) -> Sequence[Problem]:
    """Return what is said of requests without an answer: once where there are several, with the folders of both."""
    told = [(ANSWER.match(problem.message), REQUEST.match(problem.advice)) for problem in found]
    answers = [Path(answer[1]) for answer, request in told if answer and request]
    requests = [Path(request[1]) for answer, request in told if answer and request]
    if len(answers) < max(2, len(found)):
        return found
    folders, asked = ({str(file.parent): None for file in files} for files in (answers, requests))
    wrong = f"{len(answers)} signed certificates are missing in {', '.join(folders)}, as {answers[0].name}"
    advice = f"have the requests in {', '.join(asked)} signed, put each there with its intermediates, and run again"
    hosts = tuple(dict.fromkeys(host for problem in found for host in problem.hosts))
    return [replace(found[0], hosts=hosts, variable="pki_certificates", message=wrong, advice=advice)]


def certificate_problems(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield what is wrong with the certificates on the control node, which is all that is read; nothing is made.

    That an outside CA has not signed a request yet is a warning here: the run that writes the request has to be
    possible.
    """
    options, before, unsigned = argument_spec("pki"), None, list[Problem]()
    for host in model.function_hosts:
        if not reader.said_right(host, options):
            continue
        given = {name: model.hosts[host][name] for name in options if name in model.hosts[host]}
        plain = json.loads(
            json.dumps(given, default=str)
        )  # without what Ansible notes on every text: the validator copies it all
        settings = ArgumentSpecValidator(options).validate(plain).validated_parameters
        before = before or Before(Path(settings["pki_directory"]))
        pki = Pki(
            host, {name.removeprefix("pki_"): value for name, value in settings.items()}, check_mode=True, before=before
        )
        try:
            pki.converge()
        except OSError as error:
            wrong = f"cannot be read: {error.strerror}"
            yield Problem(
                (host,),
                "pki_directory",
                "CERTIFICATE_FOLDER",
                settings["pki_directory"],
                wrong,
                "correct the path, or its permissions",
            )
        unsigned += [replace(one, warning=True) for one in pki.problems if one.code == "CERTIFICATE_UNSIGNED"]
        yield from (problem for problem in pki.problems if problem.code != "CERTIFICATE_UNSIGNED")
    yield from _unsigned(unsigned)
