"""Wrong inventories: passwords and super users."""

from __future__ import annotations

from model.mistakes.access import SECRETLESS, users
from model.mistakes.base import ALL, BROKERS, JOB, VAULT, Mistake, kafka

SUPER = ["User:kafka-broker", "User:admin"]
PLACE = f"{BROKERS}/kafka_super_users"

MISTAKES: tuple[Mistake, ...] = (
    Mistake("SUPER_USER_INVALID", PLACE, "write it as User:ops", variables=kafka(kafka_super_users=[*SUPER, "ops"])),
    Mistake(
        "SUPER_USER_EVERYBODY",
        PLACE,
        "the brokers and the admin",
        variables=kafka(kafka_super_users=[*SUPER, "User:*"]),
        inventory="stretch3",
    ),
    Mistake(
        "SUPER_USER_APPLICATION",
        PLACE,
        "write ACLs",
        variables=kafka(kafka_super_users=[*SUPER, "User:count_words"]),
        inventory="stretch3",
    ),
    Mistake(
        "PASSWORD_GUESSABLE",
        f"{ALL}/kafka_users[orders].password",
        "a random password",
        variables=users({"name": "orders", "password": "{{ 'orders-2026' }}"}),
    ),
    Mistake(
        "PASSWORD_CHARACTERS",
        "group all/vault.new_passwords.lab",
        "without these characters",
        extra={"vault": {**VAULT, "new_passwords": {"lab": "eeNg3ahthi4y\n"}}},
    ),
    Mistake(
        "USER_LOGIN",
        f"{BROKERS}/kafka_client[security.protocol]",
        "verify: generation",
        variables=kafka(kafka_client={"bootstrap.servers": "198.18.1.21:9092", "security.protocol": "SSL"}),
    ),
    Mistake(
        "VAULT_EMPTY",
        "group all/vault.passwords.count_words",
        "ansible-vault edit",
        extra={"vault": {**VAULT, "passwords": {**VAULT["passwords"], "count_words": None}}},
    ),
    Mistake(
        "LOGIN_UNKNOWN",
        "group spark_consumer/spark_job_jobs[count_words].config.kafka",
        "declare the user",
        variables={
            "spark_consumer": {
                "spark_job_jobs": [
                    {
                        **JOB,
                        "config": {
                            **JOB["config"],
                            "kafka": "{{ kafka_client | combine(kafka_users | millrace.kafka.kafka_login('orders')) }}",
                        },
                    }
                ]
            }
        },
    ),
    Mistake(
        "LOGIN_PASSWORD",
        "dc1-spark2/spark_job_jobs[count_words].config.kafka",
        "give the user a password",
        variables=SECRETLESS,
    ),
    Mistake(
        "PASSWORD_SHARED",
        f"{ALL}/kafka_users[orders].password",
        "its own password",
        variables=users({"name": "orders", "password": "{{ vault.passwords.lab }}"}),
    ),
    Mistake(
        "USER_RESERVED",
        f"{ALL}/kafka_users[admin]",
        "another name",
        variables=users({"name": "admin", "password": "{{ vault.passwords.lab }}9"}),
    ),
    Mistake(
        "VAULT_NUMBER",
        "group all/vault.passwords.lab",
        "in quotes",
        extra={"vault": {**VAULT, "passwords": {**VAULT["passwords"], "lab": 8236450917}}},
    ),
)
