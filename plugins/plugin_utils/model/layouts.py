"""The layouts of a cluster: how many datacenters with brokers, and how many witnesses, each layout requires.

A witness is a datacenter with ZooKeeper servers only. The choices of `layout` in plugins/definitions/site.yml are the
same names.
"""

from __future__ import annotations

# By layout: the number of datacenters with brokers, and of witnesses, which have only ZooKeeper servers.
LAYOUTS = {"single": (1, 0), "stretch2": (2, 0), "stretch2_5": (2, 1), "stretch3": (3, 0)}
# Layouts of one cluster over several datacenters.
STRETCHED = ("stretch2", "stretch2_5", "stretch3")
