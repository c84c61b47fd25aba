"""Masked parts: what a custodian hands to the coordinator, and the total that all of them open.

Custodian i adds to its integers, modulo 2^b, a mask for every other custodian j, and j subtracts the
same. The mask of a pair is the stream of ChaCha20 under a key that only the two can derive (X25519 of
keys made for this release, then HKDF salted with the agreement's hash). In the sum over all parts the
masks cancel; in a sum over fewer at least one is left, so whoever lacks the keys of a pair sees uniform
numbers there, to the strength of the cipher. A part is sealed for the coordinator (ChaCha20-Poly1305)
and signed by its custodian. Where custodians may vanish, each adds one mask of its own: see
`dpfda.publication.custody.vanishing`.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import CustodyError
from dpfda.publication.custody.agreements import Agreement
from dpfda.publication.custody.keys import CHANGED, KEY_BYTES, Card, Keys, verified
from dpfda.publication.custody.vanishing import Answer, Roll, Sealed, Seeds, deal, opened_seeds

# Every key is used for one stream or one message, so that a nonce of zeros is used once.
_STREAM_NONCE, _SEAL_NONCE = bytes(16), bytes(12)
TAG_BYTES = 16


class Part(Sealed):
    """The masked sum of one custodian: masked even for the coordinator."""

    FORMAT: ClassVar[str] = "dpfda-custodian-part"
    VERSIONS: ClassVar[tuple[int, ...]] = (1, 2)


def masked(agreement: Agreement, keys: Keys, total: IntegerSum) -> Part:
    """The part of one custodian, made of its exact sum. Its keys are used up.

    agreement: Signed; its fingerprint has been compared with the other custodians'.
    keys: Made for this agreement.
    total: Private: the sums, and the number of units.
    Raises CustodyError if the keys are not those in the agreement, or have been used.
    """
    own, salt = check_own(agreement, keys), agreement.digest
    others = [card for card in agreement.custodians if card.name != own.name]
    seeds = {card.name: keys.shared(card, salt, "mask") for card in others}
    confirmed = {card.name: keys.shared(card, salt, "confirmation", TAG_BYTES).hex() for card in others}
    dealt: Json = {}
    left = None
    if agreement.may_vanish:
        seeds[own.name] = secrets.token_bytes(KEY_BYTES)
        dealt, left = deal(agreement, keys, seeds)
    masks = masks_of(agreement, {(own.name, name): seed for name, seed in seeds.items()})
    numbers = total.masked(masks, agreement.modulus)
    size = agreement.bits // 8
    content = b"".join(number.to_bytes(size, "little") for number in numbers)
    key = keys.shared(agreement.coordinator, salt, "envelope")
    sealed = ChaCha20Poly1305(key).encrypt(_SEAL_NONCE, content, salt + own.name.encode())
    entries = {"custodian": own.name, "confirmed": confirmed, **dealt, "sealed": sealed.hex()}
    part = Part(keys.sign(agreement.headed(Part.FORMAT, 2 if dealt else 1, **entries)))
    # Before the part leaves: the same masks on other numbers would give away the difference.
    keys.use_up(f"a part under the agreement {salt.hex()}", left)
    return part


def check_own(agreement: Agreement, keys: Keys) -> Card:
    """The card of unused keys that stand in the agreement, and share a secret with all others.

    Raises CustodyError otherwise: before anything is charged, or each try would cost a budget.
    """
    own = keys.card
    if agreement.card(own.name) != own:
        raise CustodyError(
            f"The agreement must hold the public keys of {own.name}; found others. Somebody may have "
            "put keys of their own in their place: do not make a part for it."
        )
    keys.check_unused()
    for card in (*agreement.custodians, agreement.coordinator):
        # A key that none can share a secret with is seen before anything is charged.
        keys.shared(card, agreement.digest, "envelope")
    return own


def called(agreement: Agreement, keys: Keys, parts: Iterable[Part]) -> Roll:
    """The roll of all whose parts are there, which they and the others answer.

    keys: The coordinator's; they are not used up.
    Raises CustodyError as `joined`, or if nobody may vanish under the agreement.
    """
    if not agreement.may_vanish:
        raise CustodyError(
            "The agreement must let custodians vanish (threshold) where a roll is called; under this "
            "one all parts open their total, and no roll is needed."
        )
    contents = _by_name(agreement, keys, parts)
    _check_pairs(agreement, contents)
    return _roll(agreement, keys, contents)


def joined(
    agreement: Agreement, keys: Keys, parts: Iterable[Part], answers: Iterable[Answer] = ()
) -> IntegerSum:
    """The total of all parts: exact, private, and modulo the agreement's power of two.

    keys: The coordinator's; the caller uses them up once nothing can be refused any more.
    parts: One of each custodian, or of each on the roll, in any order; the same part twice counts once.
    answers: To the roll of these parts, where custodians may vanish.
    Returns the sums and the number of units. It leaves with noise only, reduced after the noise; see
        `IntegerSum`.
    Raises CustodyError if one is missing, two differ, one belongs to another agreement or is not by its
    custodian, two custodians do not share their mask, or too few answered. No number is told.
    """
    contents = _by_name(agreement, keys, parts)
    missing = [card.name for card in agreement.custodians if card.name not in contents]
    if missing and not agreement.may_vanish:
        raise CustodyError(
            f"The parts of all custodians must be there; missing: {', '.join(missing)}. Their masks "
            "would stay in the total. Wait for them, or start again with an agreement without them."
        )
    _check_pairs(agreement, contents)
    seeds: Seeds = {}
    if agreement.may_vanish:
        hashes = {name: content["secrets"] for name, content in contents.items()}
        seeds = opened_seeds(agreement, keys, _roll(agreement, keys, contents), answers, hashes)
    totals = [-mask for mask in masks_of(agreement, seeds)]
    for name, content in contents.items():
        opened_part = _opened(agreement, keys, agreement.card(name), content)
        totals = [a + b for a, b in zip(totals, opened_part, strict=True)]
    return IntegerSum.modulo(totals[:-1], totals[-1], agreement.modulus)


def _by_name(agreement: Agreement, keys: Keys, parts: Iterable[Part]) -> dict[str, Json]:
    if keys.card != agreement.coordinator:
        raise CustodyError("The keys must be those of the coordinator in the agreement; found others.")
    keys.check_unused()
    contents: dict[str, Json] = {}
    for part in parts:
        content = _checked(agreement, part)
        if contents.setdefault(part.custodian, content) != content:
            raise CustodyError(
                f"There must be one part a custodian; found two different ones of {part.custodian}. Ask "
                "which of them counts, and why there are two: together they may tell about its records."
            )
    return contents


def _roll(agreement: Agreement, keys: Keys, contents: Mapping[str, Json]) -> Roll:
    return Roll.call(agreement, keys, {name: content["shares"] for name, content in contents.items()})


def masks_of(agreement: Agreement, seeds: Seeds) -> list[int]:
    """The sum of masks as their first owner adds them: the later name of a pair subtracts its mask."""
    size = agreement.bits // 8
    masks = [0] * (agreement.numbers + 1)
    for (own, other), seed in seeds.items():
        sign = 1 if own <= other else -1
        stream = _numbers(_stream(seed, len(masks) * size), size)
        masks = [mask + sign * number for mask, number in zip(masks, stream, strict=True)]
    return masks


def _checked(agreement: Agreement, part: Part) -> Json:
    card = agreement.card(part.custodian)
    content = verified(part.written, card.signing, f"The part of {card.name}")
    if content.get("agreement") != agreement.digest.hex():
        raise CustodyError(
            f"The part of {card.name} must be made under this agreement; found another. Its parameters, "
            "its custodians or its session differ."
        )
    names = {card.name for card in agreement.custodians}
    for field, expected in (("shares", names - {card.name}), ("secrets", names)):
        entries = content.get(field)
        if agreement.may_vanish and not (isinstance(entries, dict) and set(entries) == expected):
            raise CustodyError(f"The part of {card.name} must hold its {field} for all; it does not.")
    return content


def _check_pairs(agreement: Agreement, contents: Mapping[str, Json]) -> None:
    """Both ends of every pair must have derived the same secrets, or their masks do not cancel."""
    tags: Counter[tuple[str, ...]] = Counter()
    for name, content in contents.items():
        others = {card.name for card in agreement.custodians} - {name}
        confirmed = content.get("confirmed")
        if not isinstance(confirmed, dict) or set(confirmed) != others:
            raise CustodyError(f"The part of {name} must be masked for every other; it is not.")
        tags.update((*sorted((name, other)), str(tag)) for other, tag in confirmed.items())
    for first, second, _ in (
        pair for pair, times in tags.items() if times != 2 and {*pair[:2]} <= {*contents}
    ):
        raise CustodyError(
            f"{first} and {second} must share their mask; found that they do not. One of them used "
            "other keys: start again with new ones."
        )


def _opened(agreement: Agreement, keys: Keys, card: Card, content: Json) -> Sequence[int]:
    key = keys.shared(card, agreement.digest, "envelope")
    size = agreement.bits // 8
    try:
        sealed = bytes.fromhex(content["sealed"])
        data = ChaCha20Poly1305(key).decrypt(_SEAL_NONCE, sealed, agreement.digest + card.name.encode())
    except CHANGED:
        raise CustodyError(f"The part of {card.name} cannot be opened. Ask for it again.") from None
    if len(data) != (count := agreement.numbers + 1) * size:
        raise CustodyError(f"The part of {card.name} must hold {count} numbers; it does not.")
    return _numbers(data, size)


def _stream(key: bytes, length: int) -> bytes:
    return Cipher(ChaCha20(key, _STREAM_NONCE), mode=None).encryptor().update(bytes(length))


def _numbers(data: bytes, size: int) -> list[int]:
    return [int.from_bytes(data[start : start + size], "little") for start in range(0, len(data), size)]
