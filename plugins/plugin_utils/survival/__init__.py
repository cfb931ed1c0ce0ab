"""Computes which failures a layout survives: quorum, writes and data after each, from the layout alone.

A cell of the table is yes only if it holds for every placement of replicas that Kafka may have chosen while all brokers
were registered. Before a failure all servers are up and every ISR is full; only `zero_loss` assumes an ISR that has
shrunk to min.insync.replicas.
"""
