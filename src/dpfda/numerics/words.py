r"""Words of people: what cannot be seen in them is written out, and no program reads them as its own.

Labels, units, levels and names of files are words of users; those in a file are of whoever made it. Both
are shown as text everywhere. Some characters have no sign of their own and change what stands around
them: controls (a terminal obeys them), marks of direction (what is read is not what is written), those
without width (two names look alike), separators of lines, and halves of a pair (no encoding has them).

Where words are given they are refused (`dpfda.numerics.parameters.plain_words`): whoever gives them can
leave the character out, and what is published is what was typed. Where words come from a file they are
escaped as it is read (`legible`), so that files of earlier versions stay readable. Whatever shows words,
a terminal, a page, a picture, a table or an error, escapes them too (`visible`): names of files, and
objects made by hand, pass neither. Escapes are those of Python: ``\x1b``, ``\u202e``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Any, TypeVar
from unicodedata import category

# Controls, marks of format (of direction, without width), halves of a pair, separators.
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# What starts a formula in a spreadsheet, also in full width; and behind a semicolon, which parts cells
# where commas are decimal signs.
START = r'"*[=+\-@\uff1d\uff0b\uff0d\uff20]'
FORMULA = re.compile(rf"(^(?=\s*{START})|;(?={START}))")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
# Marks a cell as text; spreadsheets do not show it where it is typed.
QUOTE = "'"
PLAIN = frozenset({int, float, bool, type(None)})
# Words for a unit whose plural is not the word and an s.
IRREGULAR = {
    "baby": "babies", "child": "children", "city": "cities", "company": "companies",
    "country": "countries", "family": "families", "man": "men", "woman": "women",
}  # fmt: skip
Read = TypeVar("Read")


def several(unit: str) -> str:
    """A word for a unit in the plural.

    Examples
    --------
    >>> several("patient"), several("school child")
    ('patients', 'school children')
    """
    before, _, last = unit.rpartition(" ")
    return f"{before} {IRREGULAR.get(last, f'{last}s')}".lstrip()


def so_many(count: int, unit: str) -> str:
    """So many units: the word in the singular for one.

    Examples
    --------
    >>> so_many(1, "coefficient"), so_many(2, "coefficient")
    ('1 coefficient', '2 coefficients')
    """
    return f"{count} {unit if count == 1 else several(unit)}"


def with_an_s(text: str) -> str:
    """A text with irregular plurals as if they were regular, as catalogues of sentences have them."""
    for single, more in IRREGULAR.items():
        if more in text:
            text = re.sub(rf"\b{more}\b", f"{single}s", text)
    return text


def unseen(text: str) -> str | None:
    """The first character of a text that has no sign of its own; None where there is none."""
    if text.isprintable():
        return None
    return next((sign for sign in text if category(sign) in UNSEEN), None)


def visible(text: str, kept: str = "") -> str:
    r"""A text with all characters that have no sign of their own written out, but for those kept.

    Examples
    --------
    >>> visible("load\x1b[2J")
    'load\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(
        sign.encode("unicode_escape").decode("ascii")
        if category(sign) in UNSEEN and sign not in kept
        else sign
        for sign in text
    )


def legible(written: Read) -> Read:
    """What was read of JSON, with all texts and keys in it `visible`; changed in place, at any depth."""
    root = [written]
    waiting: list[Any] = [root]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            shown = [(visible(key) if isinstance(key, str) else key, part[key]) for key in part]
            part.clear()
            part.update(shown)
        # Most parts are of numbers alone, which stay.
        if PLAIN.issuperset(map(type, part.values() if isinstance(part, dict) else part)):
            continue
        for place, value in list(part.items()) if isinstance(part, dict) else enumerate(part):
            if isinstance(value, str):
                part[place] = visible(value)
            elif isinstance(value, (dict, list)):
                waiting.append(value)
    return root[0]


def cell(value: object) -> object:
    """A cell of a table: a text that no spreadsheet runs, or a number as it is.

    Text that begins as formulas do gets a single quote before it, as OWASP advises against CSV
    injection; a text that is a number does not.

    Examples
    --------
    >>> cell("=1+1"), cell("-1.5"), cell(-1.5)
    ("'=1+1", '-1.5', -1.5)
    """
    if not isinstance(value, str):
        return value
    return value if NUMBER.fullmatch(value) else FORMULA.sub(rf"\1{QUOTE}", visible(value))


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows of cells as CSV; floats with the digits that give them back exactly."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([cell(value) for value in row] for row in rows)
    return text.getvalue()
