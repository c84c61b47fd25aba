"""Signed files: one form of JSON for one content, its hash, and Ed25519 over it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import CustodyError, needed

with needed("cryptography", "custodians", "A release of several custodians"):
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def canonical(content: Mapping[str, object]) -> bytes:
    """JSON with sorted names and without blanks: equal contents are equal bytes."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


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
    except (InvalidSignature, KeyError, TypeError, ValueError):
        raise CustodyError(
            f"{whose} must be as it was signed; found another content or another signature. Nothing of "
            "it was used. Ask for the file again."
        ) from None
    return content
