"""Wrong inventories: what strangers reach."""

from __future__ import annotations

from model.mistakes.base import BROKERS, Mistake, kafka
from model.mistakes.jobs import job

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "ARCHIVE_CLEAR",
        f"{BROKERS}/kafka_archive_checksum",
        "128 hexadecimal digits",
        variables=kafka(kafka_archive="http://mirror.example.org/kafka_2.13-3.9.2.tgz"),
        inventory="stretch3",
    ),
    Mistake(
        "FIREWALL_OPEN",
        f"{BROKERS}/firewall_extra_sources.client",
        "only the subnets",
        variables=kafka(firewall_extra_sources={"client": ["0.0.0.0/0"]}),
        inventory="stretch3",
    ),
    Mistake(
        "AUTHORITY_KEYS",
        "group all/pki_directory",
        "/srv/millrace-pki",
        variables={"all": {"pki_directory": "/tmp/pki"}},
        inventory="stretch3",
    ),
    Mistake(
        "AUTHORITY_SHORT",
        "group all/pki_authorities[infra].days",
        "set days above 397 (default: 3650), or lower pki_days",
        variables={
            "all": {
                "pki_authorities": [
                    {"name": "infra", "subject": "CN=Infra CA,O=lab", "days": 90},
                    {"name": "clients", "subject": "CN=Client CA,O=lab"},
                ]
            }
        },
    ),
    Mistake(
        "CERTIFICATE_LONG",
        "group all/pki_days",
        "for example to 397",
        variables={"all": {"pki_days": 10000}},
    ),
    Mistake(
        "CHECKSUM_FORM",
        f"{BROKERS}/kafka_archive_checksum",
        "128 hexadecimal digits",
        variables=kafka(kafka_archive_checksum="sha512:0123abcd"),
    ),
    Mistake(
        "JOB_OPEN",
        "group spark_consumer/spark_job_jobs[count_words].config.spark[spark.driver.bindAddress]",
        "remove it (default: 127.0.0.1)",
        variables=job(spark={"spark.driver.bindAddress": "0.0.0.0"}),
        inventory="stretch3",
        also=frozenset({"JOB_TWICE"}),
    ),
)
