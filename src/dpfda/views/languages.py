"""Words of releases in other languages: known sentences are found again and said in another one.

The English text is what is written, tested and kept. A catalogue (gettext, in `locale`) has whole
sentences with named places, and a sentence is translated with what its places hold: a translation
cannot state another number or name than the English text. What no catalogue has stays English.

A place of one letter, with or without a digit, or in CAPITALS, holds a number or words that are known
themselves. Any other holds a name, such as a label or a unit, which is left as it is unless it is known.
A message with a context (msgctxt) is only for places of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property, lru_cache
from gettext import GNUTranslations
from operator import itemgetter
from pathlib import Path
from re import compile as pattern
from string import Formatter
from typing import Any, TypeVar

from dpfda.numerics.parameters import choice
from dpfda.numerics.words import with_an_s

HERE = Path(__file__).parent / "locale"
CATALOGUE = "LC_MESSAGES/dpfda.mo"
ENGLISH = "en"
# How numbers and the ends of items are written, where it is not as in English.
SIGNS: dict[str, dict[str, str]] = {
    ENGLISH: {},
    "de": {".": ",", ",": ".", "%": "\xa0%"},
    "fr": {".": ",", ",": "\u202f", "%": "\xa0%", ";": "\xa0;"},
}
LANGUAGES = tuple(SIGNS)
ONE = r"([-+±]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?(e[-+]?\d+)?%?|\d+/\d+)"
NUMBERS = pattern(f"{ONE}(, {ONE})*")
SENTENCE = pattern(r"(?<=[.!?]) (?=\S)")
DIGITS, MARKS = "0123456789", (".", ";")
# Sentences that one message may hold; steps in reading one, and messages in messages: many times what
# ordinary ones take.
TOGETHER, STEPS, DEPTH = 3, 50_000, 40
# Characters of a number, or of what may stand in its place.
LONGEST = 32
# Between the place that a message is for and the message, as gettext has it.
CONTEXT = "\x04"
Part = TypeVar("Part")
# How much of a text is names, and its translation.
Said = tuple[int, str | None]


@dataclass(frozen=True)
class Message:
    """A sentence with named places, and its translation.

    pieces: What stands before, between and behind the places.
    places: Names of the places, one fewer.
    said: The translation, with the same places.
    """

    pieces: tuple[str, ...]
    places: tuple[str, ...]
    translation: str

    @classmethod
    def of(cls, english: str, translation: str) -> Message:
        """Read a message of a catalogue."""
        parts = [*Formatter().parse(english)]
        places = tuple(name for _, name, _, _ in parts if name is not None)
        end = [] if len(parts) > len(places) else [""]
        return cls((*(piece for piece, *_ in parts), *end), places, translation)

    @cached_property
    def length(self) -> int:
        """How much it says beside its places."""
        return sum(map(len, self.pieces))

    def readings(
        self, text: str, start: int, place: int, names: dict[str, str], steps: Iterator[int]
    ) -> Iterator[dict[str, str]]:
        """What its places can hold in a text from a position and a place on, as long as there are steps.

        text: Begins and ends as the message does.
        """
        name, piece = self.places[place], self.pieces[place + 1]
        last = place + 1 == len(self.places)
        end = len(text) - len(piece) if last else text.find(piece, start + 1)
        most = len(text) if len(name.rstrip(DIGITS)) > 1 else LONGEST
        while start < end <= start + most and next(steps, None) is not None:
            longer = names | {name: text[start:end]}
            if names.get(name, longer[name]) == longer[name]:
                after = end + len(piece)
                yield from [longer] if last else self.readings(text, after, place + 1, longer, steps)
            end = -1 if last else text.find(piece, end + 1)


@cache
def messages(name: str) -> dict[str, dict[str, str]]:
    """The catalogue of a language: by the place that messages are for, translations by their English."""
    catalogue: dict[str, dict[str, str]] = {"": {}}
    if name != ENGLISH:
        with (HERE / name / CATALOGUE).open("rb") as file:
            # All translations by their English, behind the place that they are for.
            translations: dict[str, str] = vars(GNUTranslations(file))["_catalog"]
        translations.pop("")
        for key, translation in translations.items():
            place, _, english = key.rpartition(CONTEXT)
            catalogue.setdefault(place, {})[english] = translation
    return catalogue


@lru_cache(4096)
def templates(name: str, place: str, start: str) -> list[Message]:
    """Messages for a place with places of their own that may start so, those that say most first."""
    texts = {key: text for key, text in messages(name).get(place, {}).items() if "{" in key}
    chosen = [Message.of(key, text) for key, text in texts.items() if key[:1] in ("{", start)]
    return sorted(chosen, key=lambda message: -message.length)


class Reader:
    """Reads one sentence in a language: remembers its parts, and gives up after so many steps."""

    def __init__(self, language: str) -> None:
        self._language, self._steps = language, iter(range(STEPS))
        self._remembered: dict[tuple[str, str], Said] = {}

    def reading(self, text: str, place: str = "", depth: int = 0) -> Said:
        """The reading of a text, or of its form within a sentence, that leaves least to names."""
        if (text, place) not in self._remembered:
            readings = [*self._read(text, place, depth)]
            if text[:1].isupper():
                within = self._read(text[:1].lower() + text[1:], place, depth)
                readings += [(named, text[:1].upper() + text[1:]) for named, text in within]
            self._remembered[text, place] = min(readings, key=itemgetter(0), default=(0, None))
        return self._remembered[text, place]

    def _read(self, text: str, place: str, depth: int) -> Iterator[tuple[int, str]]:
        """Readings of a text as one message, up to one that says most of it."""
        if NUMBERS.fullmatch(text):
            # A list, too: where commas are decimal signs, semicolons stand between numbers.
            numbers = (numbered(number, self._language) for number in text.split(", "))
            yield 0, f"{numbered(';', self._language)} ".join(numbers)
            return
        for at in dict.fromkeys((place, "")):
            if text in messages(self._language).get(at, {}):
                yield 0, messages(self._language)[at][text]
                return
            for message in templates(self._language, at, text[:1]) if depth < DEPTH else ():
                start, end = message.pieces[0], message.pieces[-1]
                if not (text.startswith(start) and text.endswith(end)):
                    continue
                readings = message.readings(text, len(start), 0, {}, self._steps)
                filled = [*filter(None, (self._filled(message, names, depth + 1) for names in readings))]
                yield from filled
                if filled and 2 * message.length >= len(text):
                    return

    def _filled(self, message: Message, names: Mapping[str, str], depth: int) -> tuple[int, str] | None:
        """A translation with what its places hold; None where one holds what it must not."""
        filled, named = dict[str, str](), 0
        for name, text in names.items():
            place = name.rstrip(DIGITS)
            is_name = len(place) > 1 and place.islower()
            numeric = is_name and NUMBERS.fullmatch(text) is not None
            inner, translation = (0, None) if numeric else self.reading(text, place, depth)
            if translation is None and not is_name:
                return None
            named += len(text) if is_name else inner
            filled[name] = translation or text
        return named, message.translation.format(**filled)


def numbered(text: str, language: str) -> str:
    """A number, or the mark behind an item, with the signs of a language.

    Examples
    --------
    >>> numbered("1,234.5", "de"), numbered("0.5", "fr")
    ('1.234,5', '0,5')
    """
    return "".join(SIGNS[language].get(sign, sign) for sign in text)


@dataclass(frozen=True)
class Language:
    """A language that texts are said in.

    name: {"en", "de", "fr"}.
    """

    name: str = ENGLISH

    def __post_init__(self) -> None:
        choice(self.name, "language", LANGUAGES)

    def sentences(self, text: str) -> Iterator[tuple[str, str | None]]:
        """The sentences of a text with their translations; a name may end in what looks like an end."""
        left = SENTENCE.split(text)
        while left:
            several = range(1, min(len(left), TOGETHER) + 1)
            tried = ((many, self._ended(" ".join(left[:many]))) for many in several)
            many, translation = next((attempt for attempt in tried if attempt[1] is not None), (1, None))
            yield " ".join(left[:many]), translation
            del left[:many]

    @lru_cache(1024)  # noqa: B019 - a language is a name; reports say most sentences again
    def _ended(self, text: str) -> str | None:
        """The translation of a message, which may have the mark behind it that ends an item."""
        reader, text = Reader(self.name), with_an_s(text)
        named, translation = reader.reading(text)
        if text.endswith(MARKS):
            fewer, item = reader.reading(text[:-1])
            if item is not None and (translation is None or fewer < named):
                return item + (numbered(";", self.name) if text[-1] == ";" else text[-1])
        return translation

    def text(self, text: str) -> str:
        """A paragraph, an item of a list or a few words; what is not known stays as it is."""
        if self.name == ENGLISH or not text:
            return text
        item = "- " if text.startswith("- ") else ""
        sentences = self.sentences(text.removeprefix(item))
        return item + " ".join(english if other is None else other for english, other in sentences)

    def all(self, part: Part) -> Part:
        """A page, a view or a list of paragraphs in this language."""
        return part if self.name == ENGLISH else _changed(part, self.text)


IN_ENGLISH = Language()


def _changed(part: object, change: Callable[[str], str]) -> Any:
    """A part with all texts in it changed, at any depth."""
    if isinstance(part, str):
        return change(part)
    if isinstance(part, Mapping):
        return {_changed(name, change): _changed(value, change) for name, value in part.items()}
    if isinstance(part, tuple | list):
        return type(part)(_changed(entry, change) for entry in part)
    if is_dataclass(part) and not isinstance(part, type):
        values = {field.name: _changed(getattr(part, field.name), change) for field in fields(part)}
        return replace(part, **values)
    return part
