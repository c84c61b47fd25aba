"""`dpfda report`: a page to print and to sign, and an entry for the registry of deployments."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.command.running import say
from dpfda.numerics.errors import ParameterError, needed

if TYPE_CHECKING:
    from dpfda.releases.base import Release


def report(
    files: list[Path],
    *,
    out: Path,
    registry: Path | None = None,
    title: str | None = None,
    ledger: Path | None = None,
    delta: str | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    language: str = "en",
    overwrite: bool = False,
) -> None:
    """Write a report that can be printed and signed: pictures, words, guarantees, what they add up to.

    One HTML file that needs nothing else. It reads releases, which are public, and costs no privacy.

    Parameters
    ----------
    files : F.json...
        Releases of one data set, as written by --out, or a session's answers; - for one that is piped
        in.
    out : F.html
        The report.
    registry : F.yaml
        Also write a draft entry in the form of the Differential Privacy Deployments Registry.
    title : TEXT
        Heading of the report.
    ledger : LEDGER ($DPFDA_LEDGER)
        Say where this ledger has the releases.
    delta : D
        Delta of the total, as in dpfda compose.

    Examples
    --------
    dpfda report fa.json --out report.html
    dpfda report fa.json ages.json --out report.html --ledger budget.ledger --registry entry.yaml
    """
    from dpfda.command.files import check_outputs, opened_with_bytes, relabelled
    from dpfda.numerics.parameters import plain_words
    from dpfda.releases.files import write_text
    from dpfda.releases.pages import registry_entry, report_page
    from dpfda.views.languages import Language
    from dpfda.views.page import to_html

    chosen = Language(language)
    inputs = {str(file): file for file in files}
    if len(inputs) != len(files):
        raise ParameterError("F.json", "be named once each", "a file that is named twice")
    if title is not None:
        plain_words(title, "--title")
    if out.suffix.lower() not in (".html", ".htm"):
        raise ParameterError("--out", "end in .html", repr(str(out)), "A browser prints it as PDF.")
    check_outputs({"--out": out, "--registry": registry}, inputs, overwrite, page=True)
    read = {name: opened_with_bytes(file) for name, file in inputs.items()}
    releases = {name: relabelled(release, x_label, y_label) for name, (release, _) in read.items()}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, (_, content) in read.items()}
    charged = None if ledger is None else where_charged(ledger, releases)
    page = report_page(releases, hashes, charged, delta, title)
    written = {out: to_html(page, chosen.name)}
    if registry is not None:
        with needed("pyyaml", "report", "--registry"):
            import yaml
        entry = registry_entry([*releases.values()], title or "")
        written[registry] = yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=100)
    for path, text in written.items():
        write_text(path, text)
        say(f"written: {path}")


def where_charged(path: Path, releases: dict[str, Release]) -> dict[str, str]:
    """Where the ledger has each release, in words."""
    from dpfda.privacy.ledger import Ledger

    ledger = Ledger(path)
    latest = {row.dataset: row for row in ledger.history()}
    rows = {row["release"]: row for row in ledger.releases()}

    def words(release: Release) -> str:
        row = rows.get(release.certificate.identity)
        if row is None:
            return f"{path.name} has no row for this release"
        # The row has the budget of its day, which may have been raised since.
        last = latest[row["dataset"]]
        left = last.budget.amount.minus(last.spent)
        return (
            f"{path.name}, row {row['number']} of {row['time'][:10]}, data set {row['dataset']!r}: "
            f"{row['cost']} charged. By row {last.number} {last.spent} is spent in all, and {left} left "
            f"of {last.budget}"
        )

    return {name: words(release) for name, release in releases.items()}


VERB = Verb.of(report, o.RELEASED)
