"""Filters for the rules of base_firewall_rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.plugin_utils import nft_rules


def nftables(rules: Sequence[Mapping[str, Any]], alone: Sequence[int] | None = None) -> list[str]:
    """Return the rules of base_firewall_rules as lines of nft.

    With `alone`, all TCP ports are filtered except these.
    """
    try:
        return nft_rules.lines(rules, alone)
    except ValueError as error:
        raise AnsibleFilterError(f"base_firewall_rules: {error}") from error


def firewall_rules(ports: nft_rules.Rules, known: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return base_firewall_rules of one host."""
    try:
        return nft_rules.rules(ports, known)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filters under their names."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {
            "nftables": nftables,
            "firewall_sources": nft_rules.sources,
            "firewall_rules": firewall_rules,
            "listener_ports": nft_rules.listener_ports,
        }
