"""check.yml writes its page as one HTML file."""

import re
from pathlib import Path

import pytest
from faults.lab import Lab, until

from operations.conftest import Operator


def page(operator: Operator, file: Path) -> tuple[int, str]:
    """Return the exit code of check.yml, and the page that it wrote."""
    run = operator.play("check", "-e", f"page={file}")
    assert f"page written: {file}" in run.output, run.output[-3000:]
    return run.code, file.read_text()


def test_a_healthy_site(operator: Operator, tmp_path: Path) -> None:
    """All hosts are drawn, none as down; what is not a page is kept."""
    code, text = page(operator, tmp_path / "site.html")
    assert code == 0 and "✓ HEALTHY" in text and ">down<" not in text
    assert all(f">{host}<" in text for host in operator.inventory.hosts("all"))
    jobs = text.partition(">Spark jobs</h2>")[2].partition("</table>")[0]
    assert all(f"<td>{host}</td>" in jobs for host in operator.inventory.hosts("spark")) and "running" in jobs
    (tmp_path / "mine").write_text("mine")
    refused = operator.play("check", "-e", f"page={tmp_path}/mine")
    assert refused.code != 0 and "check.yml did not write it" in " ".join(refused.output.split())
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.campaign
def test_a_broker_is_down(operator: Operator, tmp_path: Path) -> None:
    """The drawing and the table follow, and the next page tells what has changed."""
    lab, (host, other, *_) = Lab(operator.inventory), operator.inventory.hosts("kafka")
    page(operator, tmp_path / "site.html")
    lab.kill_and_keep_down(host, "kafka.service")
    try:
        code, text = page(operator, tmp_path / "site.html")
        assert code != 0 and "✗ NOT HEALTHY" in text and text.count(">down<") == 1
        rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(<td>.*?)</tr>", text)]
        now, more = (next(row for row in rows if row[0] == name) for name in ("nothing more", other))
        assert (now[2], more[2]) == ("yes", "✗ no"), "with two of three brokers, min.insync.replicas 2 needs both"
        assert "<strong>new:</strong>" in text
    finally:
        lab.heal()
    until("a page without problems", lambda: page(operator, tmp_path / "site.html")[0] == 0, 300)
    assert "✓ HEALTHY" in (tmp_path / "site.html").read_text()
