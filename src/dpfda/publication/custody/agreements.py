"""What custodians agree on before any of them adds up: one signed file of public parameters."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import CustodyError, ParameterError
from dpfda.numerics.parameters import rational, readable, shown
from dpfda.publication.custody.keys import Card, Keys, digest, opened, verified
from dpfda.releases.files import built, write_json

# Beyond the largest total there is this room for noise: a draw that leaves it is 2^100 times as large
# as all records together.
ROOM_BITS = 128
WORD_BITS = 64
_SESSION = re.compile(r"[0-9a-f]{32}")
# Where the number of units is private, no more are counted than there are people, by far.
MOST_UNITS = 2**40
LARGEST_DENOMINATOR = 10**6


def modulus_bits(largest: int) -> int:
    """Bits of numbers in which no total can wrap.

    Parameters
    ----------
    largest : int
        Public bound on the size of any total: that of one unit, times their largest number, times what a
        public matrix may make of it.

    Examples
    --------
    >>> modulus_bits(2**30 * 1000)
    192
    """
    needed = largest.bit_length() + 1 + ROOM_BITS
    return -(-needed // WORD_BITS) * WORD_BITS


def check_noise(noise: object, colluding: object, custodians: int, threshold: object = None) -> None:
    """Refuse what cannot be agreed on.

    That is noise of an unknown kind, more colluding custodians than leave one honest, and a threshold
    that could be reached for two totals.

    Raises ParameterError.
    """
    if noise not in ("central", "shared"):
        raise ParameterError("noise", "be 'central' or 'shared'", shown(noise))
    threshold = custodians if threshold is None else threshold
    most = custodians - 1 if noise == "shared" or threshold != custodians else 0
    if type(colluding) is not int or not 0 <= colluding <= most:
        words = f"be a whole number from 0 to {most} of {custodians} custodians with {noise} noise"
        raise ParameterError("colluding", words, shown(colluding))
    least = (custodians + colluding) // 2 + 1
    if type(threshold) is not int or not least <= threshold <= custodians:
        words = f"be a whole number from {least} to {custodians}: more than half of {custodians} + "
        words += f"{colluding} colluding"
        raise ParameterError("threshold", words, shown(threshold))


def check_weights(weights: Mapping[str, Fraction], names: Sequence[str], noise: object) -> None:
    """Refuse weights that no share of the noise is made for. Raises ParameterError."""
    if not weights:
        return
    if noise != "shared":
        words = "be left out where the coordinator draws the noise, and alone has a ledger to charge"
        raise ParameterError("weights", words, "central noise")
    unknown = [name for name in weights if name not in names]
    if unknown:
        raise ParameterError("weights", f"name custodians among {', '.join(names)}", shown(unknown[0]))
    for name, weight in weights.items():
        if not 0 < weight < 1 or weight.denominator > LARGEST_DENOMINATOR:
            words = "lie strictly between 0 and 1, with a denominator of at most a million"
            raise ParameterError("weights", words, f"{name}: {readable(weight)}")
    if len(weights) == len(names):
        words = "leave out the custodian whose units may lose all of the budget"
        raise ParameterError("weights", words, "one below 1 for each")


def fewest(honest: int, answers: int) -> int:
    """Of how many honest custodians every total is that can be opened; 0 where that may be of one.

    honest: How many there are.
    answers: How many of them must answer before anything opens.
    """
    spare = 2 * answers - honest
    return -(-honest * spare // answers) if spare > 0 else 0


@dataclass(frozen=True, eq=False)
class Agreement:
    """The public parameters of one release of several custodians, signed by the coordinator.

    custodians: At least two, in the order of their names.
    summary: What is added up and published, as JSON types: name and parameters of the estimator.
    rule: Hash of the public numbers by which a record becomes integers, and of the law of shares.
    numbers: How many integers each part has.
    largest: Public bound on the size of a total.
    session: Sixteen random bytes, in hexadecimal: no two agreements are one.
    bits: Parts are added up modulo two to the power of this; by default what `largest` needs.
    noise: {"central", "shared"}. Drawn by the coordinator, or a share by every custodian.
    colluding: How many custodians may tell the coordinator all they know, where the noise is shared or
        custodians may vanish.
    threshold: How many must answer so that the others' sum opens; all by default, and none may vanish.
    weights: Of custodians whose sums count for less, so that their units lose less; all others have 1.
    """

    custodians: Sequence[Card]
    coordinator: Card
    summary: Json
    rule: str
    numbers: int
    largest: int
    session: str = field(default_factory=lambda: secrets.token_hex(16))
    bits: int = 0
    signature: str = ""
    noise: str = "central"
    colluding: int = 0
    threshold: int | None = None
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    FORMAT: ClassVar[str] = "dpfda-custodians-agreement"

    def __post_init__(self) -> None:
        cards = sorted(self.custodians, key=lambda card: card.name)
        object.__setattr__(self, "custodians", tuple(cards))
        everyone = (*cards, self.coordinator)
        for part in ("name", "exchange", "signing"):
            if len({getattr(card, part) for card in everyone}) < len(everyone):
                raise ParameterError("custodians", "have different names and keys", f"one {part} twice")
        if len(cards) < 2:
            raise ParameterError("custodians", "be at least two", len(cards))
        if not isinstance(self.session, str) or not _SESSION.fullmatch(self.session):
            # It is shown to people who compare it: anything else in it may hide what stands above.
            raise CustodyError(
                "The session of an agreement must be 32 hexadecimal digits; found others."
            )
        check_noise(self.noise, self.colluding, len(cards), self.threshold)
        check_weights(self.weights, [card.name for card in cards], self.noise)
        needed = modulus_bits(self.largest)
        if not self.bits:
            object.__setattr__(self, "bits", needed)
        if self.bits != needed:
            # Fewer wrap; more could be so many that no machine makes a part.
            raise CustodyError(
                f"The agreement must add up modulo 2^{needed}, so that no total can wrap; found "
                f"2^{self.bits}. Do not make a part for it."
            )

    @property
    def content(self) -> Json:
        """All that is signed, as JSON types."""
        # Older programs, which would make a part without noise, shares of its masks or its weight, know
        # the earlier versions alone.
        more: Json = {"noise": self.noise, "colluding": self.colluding}
        version = 2 if self.is_shared else 1
        if self.may_vanish:
            version, more = 3, {**more, "threshold": self.threshold}
        if self.weights:
            version, more = 4, {**more, "weights": {k: str(v) for k, v in self.weights.items()}}
        return {
            "format": self.FORMAT,
            "version": version,
            **(more if version > 1 else {}),
            "session": self.session,
            "custodians": [card.to_json() for card in self.custodians],
            "coordinator": self.coordinator.to_json(),
            "summary": dict(self.summary),
            "rule": self.rule,
            "numbers": self.numbers,
            "largest": str(self.largest),
            "bits": self.bits,
        }

    @property
    def is_shared(self) -> bool:
        """Whether each custodian draws a share of the noise."""
        return self.noise == "shared"

    def weight(self, name: str) -> Fraction:
        """What the sum of one custodian counts for."""
        return self.weights.get(name, Fraction(1))

    @property
    def may_vanish(self) -> bool:
        """Whether the sum can be opened without some custodians."""
        return self.threshold not in (None, len(self.custodians))

    @property
    def answers(self) -> int:
        """How many custodians must be there to the end."""
        return self.threshold or len(self.custodians)

    @property
    def honest(self) -> int:
        """How many custodians' shares of noise give the guarantee alone."""
        return self.left(self.colluding)

    def left(self, colluding: int) -> int:
        """Of how many honest custodians any sum is that a coordinator and so many others can open.

        0 where that may be the sum of one.
        """
        return fewest(len(self.custodians) - colluding, self.answers - colluding)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of all that is signed."""
        return digest(self.content)

    @property
    def fingerprint(self) -> str:
        """The hash as people compare it, in groups of eight."""
        text = self.digest.hex()
        return "-".join(text[start : start + 8] for start in range(0, len(text), 8))

    @property
    def modulus(self) -> int:
        """What parts are added up by."""
        return 1 << self.bits

    def card(self, name: str) -> Card:
        """The card of one custodian. Raises CustodyError if there is none of that name."""
        for card in self.custodians:
            if card.name == name:
                return card
        raise CustodyError(f"The agreement must name the custodian; found no {shown(name)} in it.")

    def headed(self, kind: str, version: int = 1, **content: object) -> Json:
        """The content of a file that is made under this agreement."""
        return {"format": kind, "version": version, "agreement": self.digest.hex(), **content}

    def signed(self, keys: Keys) -> Agreement:
        """The same with the coordinator's signature."""
        return replace(self, signature=keys.sign(self.content)["signature"])

    def save(self, path: str | Path, overwrite: bool = False) -> Path:
        """Write the signed file, which all custodians get."""
        return write_json(path, {**self.content, "signature": self.signature}, overwrite)

    @classmethod
    def load(cls, path: str | Path) -> Agreement:
        """Read an agreement and check its signature and its numbers.

        Raises StorageError or CustodyError if it is none, or not as it was signed.
        """
        written = opened(path, cls.FORMAT, (1, 2, 3, 4))
        coordinator = built(lambda: Card.from_json(written["coordinator"]), path)
        content = verified(written, coordinator.signing, f"The agreement {str(path)!r}")
        return built(lambda: cls._read(content, coordinator, written["signature"]), path)

    @classmethod
    def _read(cls, content: Json, coordinator: Card, signature: str) -> Agreement:
        parts: Json = {name: int(content[name]) for name in ("numbers", "largest", "bits")}
        parts |= {"rule": content["rule"], "session": content["session"], "signature": signature}
        later = ("noise", "colluding", "threshold")
        parts |= {name: content[name] for name in later if name in content}
        parts["weights"] = {name: rational(value) for name, value in content.get("weights", {}).items()}
        cards = [Card.from_json(card) for card in content["custodians"]]
        return cls(cards, coordinator, dict(content["summary"]), **parts)
