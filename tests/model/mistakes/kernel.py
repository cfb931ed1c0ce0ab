"""Wrong inventories: settings of the kernel, lines of /etc/hosts, firewall rules of the site."""

from __future__ import annotations

from typing import Any

from model.mistakes.base import BROKERS, Mistake, kafka


def everywhere(**values: Any) -> dict[str, dict[str, Any]]:
    """Return variables of all hosts."""
    return {"all": values}


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "SYSCTL_VALUE",
        "group all/base_sysctl[vm.swapiness]",
        "did you mean vm.swappiness",
        variables=everywhere(base_sysctl={"vm.swapiness": 1}),
    ),
    Mistake(
        "HOSTS_LINE",
        "group all/base_hosts[192.0.2.9].names",
        "remove the name",
        variables=everywhere(base_hosts=[{"address": "192.0.2.9", "names": ["dc1-kafka1"]}]),
    ),
    Mistake(
        "FIREWALL_NOBODY",
        "group all/site_firewall_rules[9100]",
        "list addresses",
        variables=everywhere(site_firewall_rules=[{"port": 9100, "from": []}]),
    ),
    Mistake(
        "SYSCTL_UNFIT",
        f"{BROKERS}/base_sysctl[vm.max_map_count]",
        "set 262144",
        variables=kafka(base_sysctl={"vm.max_map_count": 65530}),
    ),
    Mistake(
        "PORT_PASSING",
        f"{BROKERS}/site_listeners[EXTRA]",
        "below 32768",
        variables=kafka(
            site_listeners=[
                {"name": "EXTRA", "address": "{{ client_address }}", "port": 45000, "protocol": "SASL_SSL"},
            ]
        ),
    ),
)
