"""The role pki with certificates that are made elsewhere: requests for an outside CA, and provided ones."""

from pathlib import Path

from render.pki_site import BROKER, NAMES, apply, changed, openssl, self_signed, site


def test_requests_to_an_outside_ca(tmp_path: Path) -> None:
    """The run that says what is missing writes the requests of all hosts; openssl signs them; hosts get their files."""
    outside = tmp_path / "outside"
    outside.mkdir()
    self_signed(outside / "ca.key", outside / "ca.pem", "/O=other/CN=Outside CA")
    folder = site(
        tmp_path / "site",
        pki_source="csr",
        pki_authorities=[{"name": "infra", "certificate": str(outside / "ca.pem")}],
        pki_certificates=[BROKER],
        pki_truststores=[{"path": "{{ root }}/ca.pem", "authorities": ["infra"]}],
        pki_requests_directory=str(tmp_path / "requests"),
        pki_signed_directory=str(tmp_path / "signed"),
    )
    done = apply(folder)
    assert done.returncode == 2
    for host in NAMES:
        assert (
            f"CERTIFICATE_UNSIGNED {host}/pki_certificates[broker]: "
            f"the signed certificate {tmp_path}/signed/{host}.broker.pem is missing; "
            f"have {tmp_path}/requests/{host}.broker.csr signed, put the certificate and its intermediates there, "
            "and run again"
        ) in done.stdout
    assert not (folder / "hosts").exists()
    assert list(folder.rglob("*.pem")) == [], "a bundle was noted as trusted, and no host has it"
    (tmp_path / "signed").mkdir()
    by = ("-CA", outside / "ca.pem", "-CAkey", outside / "ca.key", "-copy_extensions", "copyall", "-days", "90")
    for host in NAMES:
        request, signed = tmp_path / f"requests/{host}.broker.csr", tmp_path / f"signed/{host}.broker.pem"
        openssl("x509", "-req", "-in", request, *by, "-out", signed)
    assert changed(apply(folder)) == {"broker1": 2, "broker2": 2}
    tls = folder / "hosts/broker2/tls"
    assert openssl("verify", "-CAfile", tls / "ca.pem", "-verify_ip", "2001:db8::22", tls / "keystore.pem").endswith(
        "OK\n"
    )
    assert openssl("pkey", "-in", tls / "keystore.pem", "-pubout") == openssl(
        "x509", "-in", tls / "keystore.pem", "-noout", "-pubkey"
    )
    assert changed(apply(folder)) == {"broker1": 0, "broker2": 0}


def test_wrong_certificate_of_one_host_stops_all(tmp_path: Path) -> None:
    """A provided certificate that lacks a name reaches no host, and neither do the right ones beside it."""
    for host, names in {"broker1": NAMES["broker1"], "broker2": ["broker2"]}.items():
        alternative = ",".join(f"{'IP' if name[0].isdigit() else 'DNS'}:{name}" for name in names)
        more = ("-addext", f"subjectAltName={alternative}")
        self_signed(tmp_path / f"{host}.key", tmp_path / f"{host}.crt", f"/O=lab/OU=brokers/CN={host}", *more)
    files = str(tmp_path / "{{ inventory_hostname }}")
    certificate = {**BROKER, "certificate": f"{files}.crt", "key": f"{files}.key"}
    authorities = [{"name": "infra", "certificate": f"{files}.crt"}]
    folder = site(
        tmp_path / "site",
        pki_source="provided",
        pki_authorities=authorities,
        pki_certificates=[certificate],
        pki_truststores=[],
    )
    done = apply(folder)
    assert done.returncode == 2
    assert (
        "CERTIFICATE_SAN broker2/pki_certificates[broker] = CN=broker2,OU=brokers,O=lab: the certificate does "
        "not contain 198.18.1.22, 2001:db8::22: peers that connect there reject the host; have it issued with "
        "every name and address of the host"
    ) in done.stdout
    assert not (folder / "hosts").exists()
