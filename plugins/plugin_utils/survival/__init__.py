"""Computes which failures a cluster survives (quorum, writes, data), from its layout alone.

A result is yes only if it holds for every placement of replicas that Kafka may have chosen while all brokers were
registered. Before a failure all servers are up and every partition has all replicas in sync; only `zero_loss` assumes
that just min.insync.replicas replicas were in sync.
"""
