"""The cipher suites that preflight knows are those that the Java here takes."""

import cipher_suites
import java_options

from ansible_collections.millrace.kafka.plugins.plugin_utils.model.ciphers import known


def test_the_list_has_every_suite_of_this_java() -> None:
    """And no other; the text holds what was read of it."""
    release, suites = cipher_suites.suites_of("java")
    text = cipher_suites.FILE.read_text(encoding="utf-8")
    listed = java_options.read(text)
    assert listed[release] == suites
    assert java_options.as_text(listed) == text
    assert known() == {name for names in listed.values() for name in names}


def test_what_java_disables_it_knows() -> None:
    """And under both names that a suite has; one that no standard has, it does not."""
    disabled = {
        "TLS_ECDH_RSA_WITH_AES_256_GCM_SHA384",
        "SSL_RSA_WITH_3DES_EDE_CBC_SHA",
        "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    }
    assert disabled <= known()
    assert "TLS_RSA_WITH_CHACHA20_POLY1305_SHA256" not in known()
