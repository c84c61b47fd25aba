"""A release that was charged is not lost because a disk is full: it is kept where it can be."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfda.front.command.running import FAILED, fail
from dpfda.numerics.errors import DpfdaError, LedgerError

if TYPE_CHECKING:
    from dpfda.front.command.accounts import Account
    from dpfda.privacy.ledger import Ledger


def save(release: Any, out: Path, account: Account | None = None) -> None:
    """Write a release, or else keep it beside the ledger or in the folder for temporary files, and fail.

    The release is public once its noise is drawn, so any place is allowed. The message says where it is.
    """
    try:
        release.save(out)
    except DpfdaError as error:
        row = account.row if account is not None else None
        name = f"{out.stem}.row-{row.number}.json" if row is not None else f"{out.stem}.kept.json"
        folders = [Path(tempfile.gettempdir()), Path.home()]
        if account is not None:
            folders.insert(0, account.ledger.path.parent)
        kept = _kept(release, [folder / name for folder in folders])
        if kept is None:
            fail(
                f"{error} Noise had been drawn and the release is lost, since no other place could be "
                "written to either: running again is a second release.",
                FAILED,
            )
        remedy = f"Move it to {str(out)!r} yourself."
        if account is not None and row is not None:
            with suppress(LedgerError):
                account.note_file(kept)
                words = f"dpfda ledger recover {account.ledger.path} {row.number} {out}"
                remedy = f"Put it in its place with: {words}"
        fail(
            f"{error} The release counts, and is kept in {str(kept)!r}. Running again would be a second "
            f"release. {remedy}",
            FAILED,
        )


def recovered(ledger: Ledger, row: int, out: Path, overwrite: bool) -> Path:
    """Copy the file that is noted on a charge to where it is wanted, and note that.

    Raises
    ------
    LedgerError
        If the row is no charge, or has no file.
    StorageError
        If that file holds no release, or the new one cannot be written.
    """
    from dpfda.front.command.outputs import check_outputs
    from dpfda.releases.base import load
    from dpfda.releases.files import write_text

    found = next((listed for listed in ledger.releases() if listed["number"] == row), None)
    if found is None:
        raise LedgerError(f"ROW must be a charge of the ledger; found {row}. See dpfda ledger show.")
    if found["file"] is None:
        raise LedgerError(
            f"The charge must have a file; row {row} has none. Its release was written by other "
            "means, or is lost: its noise cannot be drawn again under the same charge."
        )
    kept = Path(found["file"])
    check_outputs({"F.json": out}, {"the kept file": kept}, overwrite)
    load(kept)
    write_text(out, kept.read_text(encoding="utf-8"))
    ledger.note_file(found["dataset"], out.resolve(), row)
    return kept


def _kept(release: Any, places: list[Path]) -> Path | None:
    for place in places:
        if place.exists():
            continue
        with suppress(DpfdaError, OSError):
            release.save(place)
            return place.resolve()
    return None
