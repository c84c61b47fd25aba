"""Keys of one party for one release, wiped with use; and files that they sign, in one form of JSON."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import ClassVar, NoReturn, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import CustodyError, ParameterError, StorageError, needed
from dpfda.numerics.parameters import shown, whole
from dpfda.releases.files import built, read_json, write_bytes, write_json

with needed("cryptography", "custodians", "A release of several custodians"):
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def canonical(content: Mapping[str, object]) -> bytes:
    """JSON as RFC 8785 writes it: equal contents are equal bytes, for any program that makes it.

    Whole numbers above 2^53, which the RFC leaves out, are written in full. Raises RecursionError.
    """
    return _canonical(content).encode("utf-8", "surrogatepass")


def _canonical(value: object) -> str:
    if isinstance(value, Mapping):
        # In the order of UTF-16.
        pairs = sorted(value.items(), key=lambda pair: pair[0].encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_canonical(name)}:{_canonical(part)}" for name, part in pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_canonical, value)) + "]"
    if not isinstance(value, float):
        return json.dumps(value, ensure_ascii=False)
    # The same shortest digits, with the exponents of ECMAScript; there is one zero.
    written = json.dumps(value + 0.0, allow_nan=False)
    if 1e-6 <= abs(value) < 1e21:
        written = f"{Decimal(written):f}"
    return re.sub("(?<=e[+-])0", "", written).removesuffix(".0")


def digest(content: Mapping[str, object]) -> bytes:
    """SHA-256 of the canonical form."""
    return hashlib.sha256(canonical(content)).digest()


def signed(content: Mapping[str, object], key: Ed25519PrivateKey) -> Json:
    """The content with a signature of all of it."""
    return {**content, "signature": key.sign(canonical(content)).hex()}


def verified(written: Json, key: bytes, whose: str) -> Json:
    """The content of a signed file, without its signature.

    Raises CustodyError if the signature is not of this content by this public key.
    """
    content = {name: value for name, value in written.items() if name != "signature"}
    try:
        signature = bytes.fromhex(written["signature"])
        Ed25519PublicKey.from_public_bytes(key).verify(signature, canonical(content))
    except (InvalidSignature, KeyError, TypeError, ValueError, RecursionError):
        raise CustodyError(
            f"{whose} must be as it was signed; found another content or another signature. Nothing of "
            "it was used. Ask for the file again."
        ) from None
    return content


KEY_BYTES = 32
# What goes wrong in something sealed that was changed, or is none.
CHANGED = (InvalidTag, KeyError, TypeError, ValueError)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Card:
    """The public half of a party's keys, signed by itself.

    name: What the party is called: letters, digits, points and dashes.
    exchange, signing: Public keys of X25519 and Ed25519.
    units: Number of privacy units that a custodian will bring, where that is public; None elsewhere.
    """

    name: str
    exchange: bytes
    signing: bytes
    units: int | None = None
    FORMAT: ClassVar[str] = "dpfda-custodian-card"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            words = "be letters, digits, points and dashes, at most 64"
            raise ParameterError("The name of a custodian", words, shown(self.name))
        if self.units is not None:
            whole(self.units, "units", words="be $none or a positive integer")
        if {len(self.exchange), len(self.signing)} != {KEY_BYTES}:
            raise ParameterError("A public key", f"have {KEY_BYTES} bytes", "another length")

    def to_json(self) -> Json:
        """The card as JSON types."""
        keys = {"exchange": self.exchange.hex(), "signing": self.signing.hex()}
        return {"name": self.name, **keys, "units": self.units}

    @classmethod
    def from_json(cls, written: Json) -> Card:
        """The card that `to_json` wrote."""
        exchange, signing = bytes.fromhex(written["exchange"]), bytes.fromhex(written["signing"])
        return cls(written["name"], exchange, signing, written["units"])

    @classmethod
    def load(cls, path: str | Path) -> Card:
        """Read a card and check its signature.

        Raises StorageError or CustodyError if it is no card, or not as it was signed.
        """
        written = opened(path, cls.FORMAT)
        card = built(lambda: cls.from_json(written["card"]), path)
        verified(written, card.signing, f"The card {str(path)!r}")
        return card


class Secret:
    """Of one party. It does not print, pickle or copy."""

    __slots__ = ("card",)

    def __init__(self, card: Card) -> None:
        self.card = card

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.card.name!r}, content secret)"

    def __reduce__(self) -> NoReturn:
        raise CustodyError("Keys are secret and cannot be pickled or copied.")


class Keys(Secret):
    """Both halves of a party's keys, for one release. Secret; it does not print, pickle or copy.

    exchange, signing: Private keys.
    file: Where they are kept, under its own name.
    """

    __slots__ = ("_alone", "_exchange", "_signing", "file", "kept")
    FORMAT = "dpfda-custodian-keys"

    def __init__(
        self,
        card: Card,
        exchange: X25519PrivateKey,
        signing: Ed25519PrivateKey,
        file: Path | None = None,
    ) -> None:
        super().__init__(card)
        self._signing, self.file = signing, file
        self._exchange: X25519PrivateKey | None = exchange
        self._alone = threading.Lock()
        self.kept: Json | None = None

    @classmethod
    def make(cls, name: str, units: int | None = None) -> Self:
        """New keys from the operating system's entropy."""
        exchange, signing = X25519PrivateKey.generate(), Ed25519PrivateKey.generate()
        public = exchange.public_key().public_bytes_raw(), signing.public_key().public_bytes_raw()
        return cls(Card(name, public[0], public[1], units), exchange, signing)

    def save(self, path: str | Path) -> Path:
        """Write both halves to a new file that only its owner may read, and remember it.

        Raises StorageError if it exists or cannot be written.
        """
        target = Path(path)
        halves = self._unused().private_bytes_raw(), self._signing.private_bytes_raw()
        secret = {"exchange": halves[0].hex(), "signing": halves[1].hex()}
        written = {"format": self.FORMAT, "version": 1, "card": self.card.to_json(), "secret": secret}
        try:
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(written, file)
        except OSError as error:
            raise StorageError(f"{str(path)!r} could not be written: {error.strerror}.") from None
        self.file = _one_name(target)
        return target

    def save_card(self, path: str | Path) -> Path:
        """Write the public half, signed, for the coordinator and the other custodians."""
        content = {"format": Card.FORMAT, "version": 1, "card": self.card.to_json()}
        return write_json(path, signed(content, self._signing))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read keys that have not been used.

        Raises StorageError or CustodyError if the file holds none, or others than its owner may read it.
        """
        written = opened(path, cls.FORMAT)
        if "secret" not in written:
            raise CustodyError(
                f"The keys in {str(path)!r} were used. Keys hold for one release: make new ones, and a "
                "new agreement with them."
            )
        check_mode(Path(path))
        return built(lambda: cls._read(written, Path(path)), path)

    @classmethod
    def _read(cls, written: Json, file: Path) -> Self:
        secret = {name: bytes.fromhex(value) for name, value in written["secret"].items()}
        exchange = X25519PrivateKey.from_private_bytes(secret["exchange"])
        signing = Ed25519PrivateKey.from_private_bytes(secret["signing"])
        card = Card.from_json(written["card"])
        public = [key.public_key().public_bytes_raw() for key in (exchange, signing)]
        if public != [card.exchange, card.signing]:
            raise ValueError("the two halves of the keys differ")
        return cls(card, exchange, signing, _one_name(file))

    def shared(self, other: Card, salt: bytes, purpose: str, length: int = KEY_BYTES) -> bytes:
        """A secret that both parties of a pair can derive, and nobody else: X25519, then HKDF.

        salt: The agreement's hash, so that secrets hold for one agreement.
        purpose: What it is used for; secrets of different purposes are independent.
        length: In bytes.
        Raises CustodyError if the other's public key is none that a secret can be shared with.
        """
        ends = b"".join(sorted((self.card.exchange, other.exchange)))
        try:
            agreed = self._unused().exchange(X25519PublicKey.from_public_bytes(other.exchange))
        except ValueError:
            raise CustodyError(f"The public key of {other.name} cannot be used.") from None
        info = f"dpfda custody 1 {purpose} ".encode() + ends
        return HKDF(hashes.SHA256(), length, salt, info).derive(agreed)

    def sign(self, content: Json) -> Json:
        """The content with a signature."""
        return signed(content, self._signing)

    def check_unused(self) -> None:
        """Refuse keys that were used, in their file too: here nothing is charged yet.

        Raises CustodyError or StorageError.
        """
        self._unused()
        if self.file is not None and claim_of(self.file).exists():
            raise CustodyError(_taken(self.file))
        if self.file is not None and "secret" not in opened(self.file, self.FORMAT):
            raise CustodyError(_gone(self.file))

    def use_up(self, purpose: str, left: Json | None = None) -> None:
        """Wipe the file, so that these keys mask or open nothing again.

        Of several processes, or threads, one can do so. Disks and backups may keep what was overwritten.

        kept: Secret: what stays, for the one answer that opens a sum without who vanished; the signing
            key stays with it.
        Raises CustodyError if they were used meanwhile, or the file cannot be overwritten.
        """
        with self._alone:
            self._unused()
            self._exchange = None
        if left is not None:
            self.kept = {**left, "signing": self._signing.private_bytes_raw().hex()}
        if self.file is not None:
            self._wipe(self.file, purpose)

    def _unused(self) -> X25519PrivateKey:
        if self._exchange is None:
            raise CustodyError(f"The keys of {self.card.name} were used. Keys hold for one release.")
        return self._exchange

    def _wipe(self, path: Path, purpose: str) -> None:
        try:
            claim = claimed(path)
            # Of several that wipe at once one makes the claim; one that comes later finds no secret.
            if "secret" not in opened(path, self.FORMAT):
                claim.unlink()
                raise FileNotFoundError
            with path.open("r+b") as file:
                file.write(b" " * path.stat().st_size)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            raise CustodyError(_taken(path)) from None
        except (FileNotFoundError, StorageError):
            raise CustodyError(_gone(path)) from None
        except OSError as error:
            raise CustodyError(
                f"The keys in {str(path)!r} could not be overwritten ({error.strerror}), and may still "
                "be there. Nothing was made: delete the file, and make new keys and a new agreement."
            ) from None
        content = {"format": self.FORMAT, "version": 1, "card": self.card.to_json(), "used": purpose}
        write_secret(path, content if self.kept is None else {**content, "kept": self.kept})
        claim.unlink()


def _one_name(path: Path) -> Path:
    # Whoever wipes it, under a link's name or from another folder, must make the same claim.
    return Path(os.path.realpath(path))


def claim_of(path: Path) -> Path:
    """What whoever uses a file of keys writes beside it before."""
    return path.with_name(f"{path.name}.claim")


def claimed(path: Path) -> Path:
    """The claim, which one of several processes writes. Raises FileExistsError in others, or OSError."""
    os.close(os.open(claim := claim_of(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return claim


def _gone(path: Path) -> str:
    return f"The keys in {str(path)!r} are gone: they were used meanwhile. Nothing was made."


def _taken(path: Path) -> str:
    return (
        f"Another process is using up {str(path)!r}, or was killed while it did. Nothing was made. If "
        f"none is, delete {str(claim_of(path))!r} and try again: keys that were used are refused then "
        "too."
    )


def write_secret(path: Path, content: Json) -> None:
    """Replace a file of keys, whole or not at all, by one that its owner alone may read."""
    write_bytes(path, (json.dumps(content, indent=1) + "\n").encode(), 0o600)


def check_mode(path: Path) -> None:
    """Refuse a file of keys that others than its owner may read. Raises StorageError."""
    # Elsewhere the bits say nothing of who may read.
    mode = stat.S_IMODE(path.stat().st_mode) if os.name == "posix" else 0
    if mode & 0o077:
        raise StorageError(
            f"A file of keys must be readable by its owner alone (mode 600); {str(path)!r} has mode "
            f"{mode:o}. Whoever read it can unmask a part: make new keys and a new agreement."
        )


def opened(path: str | Path, kind: str, versions: Sequence[int] = (1,)) -> Json:
    """The content of a file of a known format. Raises StorageError if it is another file."""
    written: Json = read_json(path)
    fits = isinstance(written, dict) and written.get("format") == kind
    if not fits or written.get("version") not in versions:
        words = f"version {max(versions)}; found a file of another kind."
        raise StorageError(f"{str(path)!r} must be of the format {kind!r}, {words}")
    return written
