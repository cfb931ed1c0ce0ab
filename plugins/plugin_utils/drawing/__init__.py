"""Draws a site as one SVG file: its hosts, networks, services and ports, and what each failure stops."""
