"""Certificates on the control node: CAs, requests, truststores, and checks of them."""
