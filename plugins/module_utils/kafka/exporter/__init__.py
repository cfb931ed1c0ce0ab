"""An exporter for Prometheus: what a cluster's metadata and consumer groups show, and no broker reports itself."""
