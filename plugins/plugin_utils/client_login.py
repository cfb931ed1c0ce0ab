"""The properties with which Java clients log in."""

from __future__ import annotations

import re

from ansible_collections.millrace.kafka.plugins.plugin_utils.listener_options import SCRAM


def scram_login(password: str, user: str, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
    """Return the properties with which a Java client logs in with SCRAM; texts are escaped for JAAS.

    Java's StreamTokenizer, by which Kafka reads JAAS texts, ends a quoted text at a line end.
    """
    quoted = [re.sub(r'[\\"]', r"\\\g<0>", text) for text in (user, password)]
    quoted = [re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\{ord(match[0]):03o}", text) for text in quoted]
    return {
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{SCRAM} required username="{quoted[0]}" password="{quoted[1]}";',
    }
