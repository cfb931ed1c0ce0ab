"""Filters for base_firewall_rules, the firewall rules of a host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.millrace.kafka.plugins.plugin_utils import nft_rules


def nftables(rules: Sequence[Mapping[str, Any]], alone: Sequence[int] | None = None) -> list[str]:
    """Return the rules of base_firewall_rules as lines for nft.

    Only ports with a rule are filtered. If `alone` is given, all TCP ports are filtered except the ports in `alone`.
    Raises AnsibleFilterError if a source in a rule is neither an address nor a subnet.
    """
    try:
        return nft_rules.lines(rules, alone)
    except ValueError as error:
        raise AnsibleFilterError(f"base_firewall_rules: {error}") from error


def firewall_rules(
    ports: nft_rules.Rules, known: Mapping[str, Sequence[str]], site_rules: nft_rules.Rules
) -> list[dict[str, Any]]:
    """Return base_firewall_rules of one host, as dicts {port, from, action}, for the ports that its functions open.

    `known` is {source name: addresses}, the result of the filter firewall_sources. `site_rules` are added; an entry
    with `only: true` replaces the clients of its port. Raises AnsibleFilterError if the key `from` of a port contains a
    name that is not in `known`.
    """
    try:
        return nft_rules.rules(ports, known, site_rules)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filters of this file, as Ansible looks them up."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return {name of a filter: its function}."""
        return {
            "nftables": nftables,
            "firewall_sources": nft_rules.sources,
            "firewall_rules": firewall_rules,
            "listener_ports": nft_rules.listener_ports,
        }
