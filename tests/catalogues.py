"""Compile the catalogues of translations: `python tests/catalogues.py` after a .po file was changed."""

import io
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po

from dpfda.views.languages import HERE

SOURCES = sorted(HERE.glob("*/LC_MESSAGES/*.po"))


def source(path: Path) -> Catalog:
    """A catalogue as it is written."""
    return read_po(io.BytesIO(path.read_bytes()), abort_invalid=True)


def compiled(path: Path) -> Catalog:
    """The catalogue that a program reads, from beside its source."""
    return read_mo(io.BytesIO(path.with_suffix(".mo").read_bytes()))


def texts(catalogue: Catalog) -> dict[tuple[str | None, str], str]:
    """Translations by the place that they are for and their English."""
    return {(each.context, each.id): each.string for each in catalogue if each.id}


if __name__ == "__main__":
    for path in SOURCES:
        with path.with_suffix(".mo").open("wb") as file:
            write_mo(file, source(path))
