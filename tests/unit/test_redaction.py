"""Secrets in texts of a host: what is removed, and what is kept."""

import json

import pytest

from ansible_collections.millrace.kafka.plugins.module_utils.host.redaction import redacted

S = "s3cr#t"
PEM = "-----BEGIN {0}PRIVATE KEY-----\nMIIEv\nQIBAD\n-----END {0}PRIVATE KEY-----"

# (text, text without the secret)
REMOVED = {
    # properties
    "properties": (f"ssl.key.password={S}", "ssl.key.password=(removed)"),
    "properties, blanks": (f"ssl.key.password = a {S} b\nnext=1", "ssl.key.password = (removed)\nnext=1"),
    "properties, colon": (f"ssl.keystore.password: {S}", "ssl.keystore.password: (removed)"),
    "properties, a blank alone": (f"spark.authenticate.secret {S}", "spark.authenticate.secret (removed)"),
    "properties, lines": (f"ssl.keystore.key=a \\\n {S} \\\n b\nnext=1", "ssl.keystore.key=(removed)\nnext=1"),
    "properties, listener": (
        f"listener.name.client.ssl.truststore.password={S}",
        "listener.name.client.ssl.truststore.password=(removed)",
    ),
    "properties, comment": (f"#ssl.key.password={S} old", "#ssl.key.password=(removed)"),
    "properties, fence": (f"delegation.token.secret.key={S}", "delegation.token.secret.key=(removed)"),
    "zookeeper": (f"ssl.quorum.keyStore.password={S}", "ssl.quorum.keyStore.password=(removed)"),
    # JAAS
    "jaas": (f'sasl.jaas.config=X required username="a" password="{S}";', "sasl.jaas.config=(removed)"),
    "jaas, lines": (
        f'KafkaServer {{\n  X required\n  password="{S}"\n;',
        'KafkaServer {\n  X required\n  password="(removed)"\n;',
    ),
    "jaas, users": (f'  user_admin="{S}"\n  user_b="{S} x";', '  user_admin="(removed)"\n  user_b="(removed)";'),
    "jaas, escaped quote": (f'password="a\\"{S}" x=1', 'password="(removed)" x=1'),
    "scram": (f"SCRAM-SHA-512=[iterations=8192,password={S}]", "SCRAM-SHA-512=[iterations=8192,password=(removed)"),
    "scram in zookeeper": (f"salt={S},stored_key={S}", "salt=(removed)"),
    # JSON
    "json": (f'{{"password": "{S}", "user": "a"}}', '{"password": "(removed)", "user": "a"}'),
    "json, compact": (f'{{"a":{{"password":"{S}"}},"b":1}}', '{"a":{"password":"(removed)"},"b":1}'),
    "json, number": ('{"api_key": 123456, "b": 1}', '{"api_key": (removed), "b": 1}'),
    "json, list": (f'{{"told": {{"ssl.key.password": ["{S}", "x]"]}}}}', '{"told": {"ssl.key.password": "(removed)"}}'),
    "json, object": (f'{{"passwords": {{"a": "{S}", "b": {{}}}}, "c": 1}}', '{"passwords": "(removed)", "c": 1}'),
    "json in json": (
        json.dumps({"a": json.dumps({"password": S, "b": 1})}),
        '{"a": "{\\"password\\": \\"(removed)\\", \\"b\\": 1}"}',
    ),
    "json, pair": (f'{{"name": "DB_PASSWORD", "value": "{S}"}}', '{"name": "DB_PASSWORD", "value": "(removed)"}'),
    "json, arguments": (f'["--password", "{S}", "x"]', '["--password", "(removed)", "x"]'),
    # YAML
    "yaml": (f"db:\n  password: {S} x\n  port: 1", "db:\n  password: (removed)\n  port: 1"),
    "yaml, quotes": (f"  password: '{S} x'  # why", "  password: '(removed)'  # why"),
    "yaml, list item": (f"- token: {S}\n  b: 1", "- token: (removed)\n  b: 1"),
    "yaml, block": (f"private_key: |\n  a\n\n  {S}\nnext: 1", "private_key: (removed)\nnext: 1"),
    "yaml, mapping": (f"passwords:\n  a: {S}\n  b: {S}\nnext: 1", "passwords:(removed)\nnext: 1"),
    "yaml, inline": (f"{{user: a, password: {S}}}", "{user: a, password: (removed)"),
    "yaml, arguments": (f"  - --password\n  - {S}\n  - x", "  - --password\n  - (removed)\n  - x"),
    "yaml, pair": (f"- name: API_TOKEN\n  value: {S}\n", "- name: API_TOKEN\n  value: (removed)\n"),
    "prometheus": (f"basic_auth: {{username: a, password: '{S}'}}", "basic_auth: {username: a, password: '(removed)'}"),
    "prometheus, authorization": (
        f"  authorization:\n    credentials: {S}\n  x: 1",
        "  authorization:(removed)\n  x: 1",
    ),
    "alertmanager": (f"slack_api_url: https://h/{S}", "slack_api_url: (removed)"),
    "pagerduty": (f"routing_key: {S}", "routing_key: (removed)"),
    "vault": (
        f"a: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  {'3' * 40}\n  {'4' * 30}\nb: 1",
        "a: !vault |\n  (removed)\nb: 1",
    ),
    # PEM
    "pem": (f"a\n{PEM.format('')}\nb", "a\n(removed)\nb"),
    "pem, encrypted": (PEM.format("ENCRYPTED "), "(removed)"),
    "pem, RSA": (PEM.format("RSA "), "(removed)"),
    "pem, one line": ("x=-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----", "x=(removed)"),
    "pem, without its end": ("a\n-----BEGIN EC PRIVATE KEY-----\nMIIE\nabc", "a\n(removed)"),
    "pem, without its begin": ("QIBAD\n-----END PRIVATE KEY-----\nb", "(removed)\nb"),
    # URLs
    "url": (f"http://user:{S}@host:80/p", "http://user:(removed)@host:80/p"),
    "url, @ in it": ("amqp://u:a@b/c@host", "amqp://u:(removed)@host"),
    "url, digits": ("http://u:12345@host", "http://u:(removed)@host"),
    "url, no user": (f"redis://:{S}@host", "redis://:(removed)@host"),
    "url, query": (f"GET /a?x=1&access_token={S} HTTP", "GET /a?x=1&access_token=(removed) HTTP"),
    "slack": ("https://hooks.slack.com/services/T0/B1/xyz end", "https://hooks.slack.com/services/(removed) end"),
    # environment
    "environment": (f"KAFKA_PASSWORD={S} x", "KAFKA_PASSWORD=(removed)"),
    "environment, export": (f"export DB_PASS='{S} x'", "export DB_PASS='(removed)'"),
    "environment, PGPASSWORD": (f"PGPASSWORD={S}", "PGPASSWORD=(removed)"),
    "environment, MYSQL_PWD": (f"MYSQL_PWD={S}", "MYSQL_PWD=(removed)"),
    "aws": (f"AWS_SECRET_ACCESS_KEY={S}", "AWS_SECRET_ACCESS_KEY=(removed)"),
    # systemd
    "systemd": (f"Environment=A=b DB_PASSWORD={S} C=d", "Environment=A=b DB_PASSWORD=(removed) C=d"),
    "systemd, quotes": (f'Environment="DB_PASSWORD={S} x" "C=d"', 'Environment="DB_PASSWORD=(removed)" "C=d"'),
    "systemd, comma": (f"Environment=DB_PASSWORD=a,{S} C=d", "Environment=DB_PASSWORD=(removed) C=d"),
    "systemd, SetCredential": (f"SetCredential=name:{S}", "SetCredential=(removed)"),
    # command lines
    "command": (f"ExecStart=/bin/x --password {S} -v", "ExecStart=/bin/x --password (removed) -v"),
    "command, =": (f"/bin/x --db-password={S} -v", "/bin/x --db-password=(removed) -v"),
    "command, Java": (
        f"java -Djavax.net.ssl.keyStorePassword={S} -jar",
        "java -Djavax.net.ssl.keyStorePassword=(removed) -jar",
    ),
    "command, quotes": (f"sh -c 'x --token={S}'", "sh -c 'x --token=(removed)'"),
    "command, curl": (f"curl -u admin:{S} http://h", "curl -u admin:(removed) http://h"),
    "command, sshpass": (f"sshpass -p {S} ssh h", "sshpass -p (removed) ssh h"),
    "journal": (f"host x[1]: login with password={S} failed", "host x[1]: login with password=(removed) failed"),
    "journal, short header": (f"-H 'Authorization: Basic {S}' -v", "-H 'Authorization: (removed)' -v"),
    "journal, ==": (f"x: password == {S}, y", "x: password == (removed) y"),
    "index": (f"passwords[orders]={S}", "passwords[orders]=(removed)"),
    "key, longer name": (f"x private_key_pem={S}", "x private_key_pem=(removed)"),
    "shell, quotes in quotes": (f"A_PASS='it'\"'\"'{S}' x", "A_PASS='(removed)' x"),
    "yaml, quotes in quotes": (f"  password: 'it''{S}'", "  password: '(removed)'"),
    "properties, quotes": (f'ssl.key.password="a" {S}', 'ssl.key.password="(removed)"'),
    "journal, no end": (f"x: credentials = [a {S}\n next line", "x: credentials = (removed)"),
    "journal, header": ("x: Authorization: Basic YWxhZGRpbjpvcGVu", "x: Authorization: (removed)"),
    # XML
    "xml": (f"<a><password>{S}</password><b>1</b></a>", "<a><password>(removed)</password><b>1</b></a>"),
    "xml, attribute": (f'<db user="a" password="{S}"/>', '<db user="a" password="(removed)"/>'),
    "xml, property": (
        f'<property name="db.password" value="{S}"/>',
        '<property name="db.password" value="(removed)"/>',
    ),
    "xml, Param": (f'<Param name="password">{S}</Param>', '<Param name="password">(removed)</Param>'),
    "xml, Hadoop": (
        f"<name>fs.s3a.secret.key</name>\n <value>{S}</value>",
        "<name>fs.s3a.secret.key</name>\n <value>(removed)</value>",
    ),
    "xml, CDATA": (f"<token><![CDATA[{S}]]></token>", "<token>(removed)</token>"),
    # databases
    "conninfo": (
        f"primary_conninfo = 'host=h user=u password={S} port=1'",
        "primary_conninfo = 'host=h user=u password=(removed) port=1'",
    ),
    "SQL": (f"ALTER USER a PASSWORD '{S}' LOGIN", "ALTER USER a PASSWORD '(removed)' LOGIN"),
    "verifier": (
        "rolpassword: x\nSCRAM-SHA-256$4096:abc=$def:ghi=",
        "rolpassword: (removed)\nSCRAM-SHA-256$4096:(removed)",
    ),
    # recognized by their form
    "bcrypt": ("  admin: $2y$10$abcdefghijklmnopqrstuv", "  admin: (removed)"),
    "JWT": ("got eyJhbGciOiJI.eyJzdWIiOiIx.sig-1 from x", "got (removed) from x"),
    "bearer": ("header Bearer 0123456789abcdef01 ok", "header Bearer (removed) ok"),
    "GitHub": ("clone ghp_0123456789abcdefghijABCD", "clone (removed)"),
    "AWS id": ("id AKIAIOSFODNN7EXAMPLE", "id (removed)"),
}
KEPT = [
    "broker.id=1\nlog.dirs=/data/kafka1,/data/kafka2\nlisteners=CLIENT://198.18.1.21:9092,REPLICATION://198.18.2.21:9093",
    "ssl.keystore.location=/etc/kafka/tls/keystore.pem\nssl.keystore.type=PEM",
    "password.encoder.iterations=4096\ndelegation.token.max.lifetime.ms=604800000",
    "sasl.oauthbearer.token.endpoint.url=https://login.example.com/token",
    "ssl.key.password=${file:/etc/kafka/secrets.properties:key}\nssl.key.password=\nsasl.jaas.config=null",
    "LoadCredential=password:/etc/credstore/x",
    "password_file: /etc/prometheus/password",
    "http://198.18.1.21:9092/a?b=c@d",
    '{"key": "orders", "partition_count": 3}',
    "INFO Enter password for user x (kafka.Kafka)",
    "MemoryCurrent=1\nNRestarts=0\nEnvironment=CONFIG_DIGEST=abc JAVA_HOME=/usr",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    '<logger name="kafka" level="INFO"/>\n<property name="password.file" value="/x"/>',
    "tcp dport 9092 ip saddr { 198.18.1.0/24 } accept",
]


@pytest.mark.parametrize("name", REMOVED)
def test_removed(name: str) -> None:
    text, expected = REMOVED[name]
    clean, number = redacted(text)
    assert clean == expected
    assert number >= expected.count("(removed)") > 0
    assert S not in clean
    assert redacted(clean)[0] == clean, "a second pass finds nothing"


@pytest.mark.parametrize("text", KEPT)
def test_kept(text: str) -> None:
    assert redacted(text) == (text, 0)


def test_a_secret_within_other_lines() -> None:
    """All of these at once: no secret changes what the next one needs."""
    text = "\n".join(text for name, (text, _) in REMOVED.items() if not name.startswith("pem, without"))
    assert S not in redacted(text)[0]
