"""Custodians who vanish: secrets in shares, the roll of who is in, and answers that open the rest.

Each custodian adds a mask of its own to its part, besides those that it has with the others. It deals
shares of all these secrets, sealed for each other (Shamir 1979: the values of a polynomial that has the
secret at zero). When parts are in, the coordinator signs a roll of their custodians. Whoever answers it
opens, of each custodian on the roll, its share of the own mask, and of the masks with those who are not
on it: never both kinds for one pair. An answer is given to one roll, so that of two rolls, with more
than half of all honest custodians needed for each, one opens. Bonawitz et al. (2017) is the model; there
the keys are dealt in a round of their own, here each part brings the shares.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self, TypeAlias

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import CustodyError, StorageError
from dpfda.publication.custody.agreements import Agreement
from dpfda.publication.custody.keys import (
    CHANGED,
    KEY_BYTES,
    Card,
    Keys,
    Secret,
    check_mode,
    claimed,
    digest,
    opened,
    signed,
    verified,
    write_secret,
)
from dpfda.releases.files import built, write_json

# A field in which a key is a number, and whose arithmetic is that of integers: Mersenne's 13th prime.
PRIME = 2**521 - 1
SHARE_BYTES = 66
NONCE_BYTES = 12
# Keys without a file make no claim that another thread would see.
_THREADS = threading.Lock()
# Secrets by who dealt them and whom they are shared with: its own name for its own mask.
Seeds: TypeAlias = dict[tuple[str, str], bytes]


def split(secret: bytes, threshold: int, count: int) -> list[bytes]:
    """Shares of a secret, of which `threshold` give it and fewer give nothing.

    Share k is the value at k + 1 of a polynomial of degree threshold - 1 modulo `PRIME` that has the
    secret at 0 and else uniform coefficients.
    """
    coefficients = [int.from_bytes(secret, "big")]
    coefficients += [secrets.randbelow(PRIME) for _ in range(threshold - 1)]
    values = []
    for place in range(1, count + 1):
        value = 0
        for coefficient in reversed(coefficients):
            value = (value * place + coefficient) % PRIME
        values.append(value.to_bytes(SHARE_BYTES, "big"))
    return values


def recovered(shares: Mapping[int, bytes]) -> bytes:
    """The secret of shares by their number, exactly as many as its threshold.

    Raises OverflowError if they are of no secret of `KEY_BYTES`.
    """
    total = 0
    for own in shares:
        above = below = 1
        for other in shares:
            if other != own:
                above = above * (other + 1) % PRIME
                below = below * (other - own) % PRIME
        total += int.from_bytes(shares[own], "big") * above * pow(below, -1, PRIME)
    return (total % PRIME).to_bytes(KEY_BYTES, "big")


def deal(agreement: Agreement, keys: Keys, seeds: Mapping[str, bytes]) -> tuple[Json, Json]:
    """Shares of a custodian's secrets for all others, and what it keeps for its answer.

    seeds: Its masks' keys by the name of the other; its own mask's under its own name.
    Returns what its part says, and what `Keys.use_up` keeps: secret.
    """
    own, salt = keys.card.name, agreement.digest
    names = [card.name for card in agreement.custodians]
    columns = (split(seeds[name], agreement.answers, len(names)) for name in names)
    bundles = dict(zip(names, map(b"".join, zip(*columns, strict=True)), strict=True))
    others = [card for card in agreement.custodians if card.name != own]
    # A key for each direction, and what seals is not kept: who takes the file later could else open all
    # shares that its owner dealt, and with them the owner's masks.
    seals = {card.name: keys.shared(card, salt, f"shares {own}") for card in others}
    opens = {card.name: keys.shared(card, salt, f"shares {card.name}").hex() for card in others}
    dealt = {name: _sealed(key, bundles[name], salt, own, name) for name, key in seals.items()}
    left = {
        "agreement": salt.hex(),
        "own": bundles[own].hex(),
        "others": opens,
        "coordinator": keys.shared(agreement.coordinator, salt, "answer").hex(),
        "roll": None,
    }
    return {"shares": dealt, "secrets": {name: _hash(seed) for name, seed in seeds.items()}}, left


@dataclass(frozen=True, eq=False, repr=False)
class Signed:
    """A signed file, of which only its form is checked until it is used.

    written: The file's content.
    """

    written: Json
    FORMAT: ClassVar[str]
    VERSIONS: ClassVar[tuple[int, ...]] = (1,)
    # Entries in which names are.
    NAMES: ClassVar[tuple[str, ...]] = ("custodian",)

    def save(self, path: str | Path, overwrite: bool = False) -> Path:
        """Write the file."""
        return write_json(path, dict(self.written), overwrite)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read the file, to be checked where it is used. Raises StorageError if it is none."""
        file = cls(opened(path, cls.FORMAT, cls.VERSIONS))
        built(lambda: [str(name) for entry in cls.NAMES for name in file.written[entry]], path)
        return file


class Roll(Signed):
    """Who is in, signed by the coordinator, with the shares that the custodians dealt each other."""

    FORMAT: ClassVar[str] = "dpfda-custodians-roll"
    NAMES: ClassVar[tuple[str, ...]] = ("present", "shares")

    @property
    def present(self) -> tuple[str, ...]:
        """The names of those whose sum will be opened, sorted."""
        return tuple(self.written["present"])

    @property
    def digest(self) -> str:
        """SHA-256 of all that is signed, in hexadecimal."""
        return digest({name: value for name, value in self.written.items() if name != "signature"}).hex()

    @classmethod
    def call(cls, agreement: Agreement, keys: Keys, dealt: Mapping[str, Json]) -> Self:
        """The roll of those who dealt; `dealt` holds the shares in their parts by their names.

        Raises CustodyError if they are fewer than must answer.
        """
        if len(dealt) < agreement.answers:
            raise CustodyError(
                f"The parts of at least {agreement.answers} custodians must be there; found "
                f"{len(dealt)}. Wait for more, or start again with another agreement."
            )
        shares = {name: dict(bundles) for name, bundles in dealt.items()}
        content = agreement.headed(cls.FORMAT, present=sorted(dealt), shares=shares)
        return cls(keys.sign(content))

    def check(self, agreement: Agreement) -> None:
        """Refuse a roll that is not of this agreement, or is too short. Raises CustodyError."""
        content = verified(self.written, agreement.coordinator.signing, "The roll")
        if content.get("agreement") != agreement.digest.hex():
            raise CustodyError("The roll must be of this agreement; found another.")
        named = [card.name for card in agreement.custodians if card.name in self.present]
        if list(self.present) != named or len(named) < agreement.answers:
            raise CustodyError(
                f"The roll must name at least {agreement.answers} custodians of the agreement, each "
                "once; it does not. Do not answer it: a sum of fewer would open."
            )


class Sealed(Signed):
    """What one custodian hands over, sealed for the coordinator and signed."""

    @property
    def custodian(self) -> str:
        """Who says to have made it."""
        return str(self.written["custodian"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.custodian!r}, content sealed)"


class Answer(Sealed):
    """Shares that a custodian opens for one roll."""

    FORMAT: ClassVar[str] = "dpfda-custodian-answer"


class Kept(Secret):
    """What a custodian keeps of its keys when its part is made: enough for one answer. Secret."""

    __slots__ = ("_content", "_file")

    def __init__(self, card: Card, content: Json, file: Path | None) -> None:
        super().__init__(card)
        self._content, self._file = content, file

    @classmethod
    def of(cls, keys: Keys) -> Self:
        """Of keys that made a part in this process. Raises CustodyError if they keep nothing."""
        if keys.kept is None:
            raise CustodyError(f"The keys of {keys.card.name} keep nothing to answer with. {_LACKING}")
        return cls(keys.card, keys.kept, keys.file)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Of a file of used keys.

        Raises StorageError or CustodyError if it keeps nothing, or others than its owner may read it.
        """
        written, file = opened(path, Keys.FORMAT), Path(os.path.realpath(path))
        if "kept" not in written:
            raise CustodyError(f"The keys in {str(path)!r} keep nothing to answer with. {_LACKING}")
        check_mode(file)
        return built(lambda: cls._read(written, file), path)

    @classmethod
    def _read(cls, written: Json, file: Path) -> Self:
        content = dict(written["kept"])
        if not {"agreement", "roll"} <= {*content}:
            raise KeyError
        if content["roll"] is not None:
            dict(content["answer"])
        elif any(len(bytes.fromhex(content[key])) != KEY_BYTES for key in ("coordinator", "signing")):
            raise ValueError
        else:
            bytes.fromhex(content["own"]), dict(content["others"])
        return cls(Card.from_json(written["card"]), content, file)

    def answer(self, agreement: Agreement, roll: Roll) -> Answer:
        """The answer to a roll, and from then on to no other; the same roll may be answered again.

        Raises CustodyError if it is not a roll of this custodian's agreement, another was answered, or
        shares in it were changed on their way.
        """
        if self._content["agreement"] != agreement.digest.hex():
            raise CustodyError(f"The part of {self.card.name} was made under another agreement.")
        roll.check(agreement)
        return Answer(self._bind(roll, lambda: self._written(agreement, roll)))

    def _written(self, agreement: Agreement, roll: Roll) -> Json:
        names = [card.name for card in agreement.custodians]
        absent = [name for name in names if name not in roll.present]
        shares = b""
        for dealer in roll.present:
            bundle = self._bundle(agreement, roll, dealer, len(names))
            for name in (dealer, *absent):
                start = names.index(name) * SHARE_BYTES
                shares += bundle[start : start + SHARE_BYTES]
        key, own = bytes.fromhex(self._content["coordinator"]), self.card.name
        sealed = _sealed(key, shares, agreement.digest, own, roll.digest)
        entries: Json = {"custodian": own, "roll": roll.digest, "sealed": sealed}
        signing = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(self._content["signing"]))
        return signed(agreement.headed(Answer.FORMAT, **entries), signing)

    def _bundle(self, agreement: Agreement, roll: Roll, dealer: str, count: int) -> bytes:
        own = self.card.name
        if dealer == own:
            return bytes.fromhex(self._content["own"])
        bundle = b""
        with suppress(*CHANGED):
            key = bytes.fromhex(self._content["others"][dealer])
            bundle = _unsealed(key, roll.written["shares"][dealer][own], agreement.digest, dealer, own)
        if len(bundle) != count * SHARE_BYTES:
            raise CustodyError(
                f"The shares of {dealer} for {own} must be in the roll as they were sealed; they are "
                "not. Nothing was opened."
            )
        return bundle

    def _bind(self, roll: Roll, make: Callable[[], Json]) -> Json:
        """The one answer, kept in place of what it is made of before it leaves: no other can be made.

        Whoever has the file behind this, after a kill or as a thief, can give the same answer only.
        """
        with _alone(self._file):
            if self._file is not None:
                self._content = opened(self._file, Keys.FORMAT)["kept"]
            bound = self._content["roll"]
            if bound not in (None, roll.digest):
                raise CustodyError(
                    f"{self.card.name} must answer one roll; it answered another. Two rolls could open "
                    "the sum of a few. Ask the coordinator for the first one."
                )
            if bound is None:
                left = {"agreement": self._content["agreement"], "roll": roll.digest, "answer": make()}
                if self._file is not None:
                    write_secret(self._file, {**opened(self._file, Keys.FORMAT), "kept": left})
                # In place: the keys that made the part hold the same.
                self._content.clear()
                self._content.update(left)
            answer: Json = self._content["answer"]
            return answer


_LACKING = "They made no part, or one under an agreement from which nobody may vanish."


def opened_seeds(
    agreement: Agreement, keys: Keys, roll: Roll, answers: Iterable[Answer], hashes: Mapping[str, Json]
) -> Seeds:
    """The masks that enough answers open: those of the present alone, and with the absent.

    keys: The coordinator's.
    hashes: Of each dealer's secrets, as its part states them.
    Raises CustodyError if too few answered, one answered another roll, or shares do not fit.
    """
    sealed = {answer.custodian: _shares(agreement, keys, roll, answer) for answer in answers}
    if len(sealed) < agreement.answers:
        raise CustodyError(
            f"The answers of at least {agreement.answers} custodians must be there; found "
            f"{len(sealed)}. Wait for more; nothing opens before."
        )
    names = [card.name for card in agreement.custodians]
    absent = [name for name in names if name not in roll.present]
    places = [(dealer, name) for dealer in roll.present for name in (dealer, *absent)]
    chosen = dict(list(sealed.items())[: agreement.answers])
    seeds: Seeds = {}
    for number, (dealer, name) in enumerate(places):
        part = slice(number * SHARE_BYTES, (number + 1) * SHARE_BYTES)
        seed = b""
        with suppress(OverflowError):
            seed = recovered({names.index(who): shares[part] for who, shares in chosen.items()})
        if _hash(seed) != hashes[dealer].get(name):
            raise CustodyError(
                f"The shares of {dealer}'s secrets must give what its part states; they do not. Either "
                f"{dealer} dealt others, or one of {', '.join(chosen)} opened others. Try the answers "
                "of others; if that fails, start again without the one that cheats."
            )
        seeds[dealer, name] = seed
    return seeds


def _shares(agreement: Agreement, keys: Keys, roll: Roll, answer: Answer) -> bytes:
    card = agreement.card(answer.custodian)
    content = verified(answer.written, card.signing, f"The answer of {card.name}")
    if (content.get("agreement"), content.get("roll")) != (agreement.digest.hex(), roll.digest):
        raise CustodyError(
            f"The answer of {card.name} must be to the roll of {', '.join(roll.present)}, made of these "
            "very parts; found another. Merge the parts on the roll that was answered, and no others."
        )
    key = keys.shared(card, agreement.digest, "answer")
    absent = len(agreement.custodians) - len(roll.present)
    shares = b""
    with suppress(*CHANGED):
        shares = _unsealed(key, content["sealed"], agreement.digest, card.name, roll.digest)
    if len(shares) != len(roll.present) * (1 + absent) * SHARE_BYTES:
        raise CustodyError(f"The answer of {card.name} cannot be opened. Ask for it again.")
    return shares


def _hash(seed: bytes) -> str:
    # Of 256 bits that nobody can guess: it shows nothing, and holds whoever dealt them to them.
    return hashlib.sha256(b"dpfda custody secret " + seed).hexdigest()


def _sealed(key: bytes, content: bytes, salt: bytes, *about: str) -> str:
    # A nonce of its own: keys from a backup would seal other shares under the same key.
    nonce = secrets.token_bytes(NONCE_BYTES)
    return (nonce + ChaCha20Poly1305(key).encrypt(nonce, content, _about(salt, about))).hex()


def _unsealed(key: bytes, sealed: str, salt: bytes, *about: str) -> bytes:
    data = bytes.fromhex(sealed)
    nonce, content = data[:NONCE_BYTES], data[NONCE_BYTES:]
    return ChaCha20Poly1305(key).decrypt(nonce, content, _about(salt, about))


def _about(salt: bytes, names: Sequence[str]) -> bytes:
    return salt + " to ".join(names).encode()


@contextmanager
def _alone(file: Path | None) -> Iterator[None]:
    """Of several processes that answer at once one goes on, and of threads without a file one by one."""
    if file is None:
        with _THREADS:
            yield
        return
    try:
        claim = claimed(file)
    except FileExistsError:
        raise CustodyError(
            f"Another process is answering with {str(file)!r}, or was killed while it did. If none is, "
            f"delete '{file}.claim' and answer again; the same roll can be answered twice."
        ) from None
    except OSError as error:
        raise StorageError(f"'{file}.claim' could not be written: {error.strerror}.") from None
    try:
        yield
    finally:
        claim.unlink()
