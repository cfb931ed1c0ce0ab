"""Each code of a certificate is said of a certificate that has just this wrong, in the words of docs/errors.md."""

from pathlib import Path

import pytest
from generate_errors import certificate_codes_in_source, written
from model.said import row
from unit.certificate_mistakes import CERTIFICATES


@pytest.mark.parametrize("code", CERTIFICATES)
def test_certificate(code: str, tmp_path: Path) -> None:
    """The only thing that is said."""
    text, warning = CERTIFICATES[code](tmp_path)
    assert text.startswith(f"{code} dc1-")
    assert written()[code] == row(text, warning), "run: make docs"


def test_every_code_of_the_sources_has_its_certificate() -> None:
    assert certificate_codes_in_source() == set(CERTIFICATES)
