"""Certificates on the control node: CAs, requests, bundles, checks."""
