"""What a layout survives: quorum, writes and data after each failure, from the layout alone; no Ansible import.

A cell says yes only if it holds for every placement of replicas that Kafka may have chosen while all brokers were
registered. Before a failure all servers are up and every ISR is full; only `zero_loss` reckons with an ISR that has
shrunk to min.insync.replicas.
"""
