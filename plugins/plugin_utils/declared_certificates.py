"""What is wrong with the certificates of an inventory, as the role pki itself judges them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.millrace.kafka.plugins.plugin_utils.inventory import Reader
from ansible_collections.millrace.kafka.plugins.plugin_utils.model import Model
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.pki import Pki
from ansible_collections.millrace.kafka.plugins.plugin_utils.pki.rotation import Before
from ansible_collections.millrace.kafka.plugins.plugin_utils.problems import Problem
from ansible_collections.millrace.kafka.plugins.plugin_utils.specs import argument_spec


def certificate_problems(reader: Reader, model: Model) -> Iterator[Problem]:
    """Yield what is wrong with the certificates on the control node, which is all that is read; nothing is made.

    That an outside CA has not signed a request yet is a warning here: the run that writes the request has to be
    possible.
    """
    options, before = argument_spec("pki"), None
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
        yield from (
            replace(problem, warning=True) if problem.code == "CERTIFICATE_UNSIGNED" else problem
            for problem in pki.problems
        )
