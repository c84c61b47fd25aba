"""Releases as JSON files with a schema version; reading one never runs code from it."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dpfda.bases import CLOSED_FORMS, Basis, BernsteinBasis, KernelBasis
from dpfda.errors import StorageError
from dpfda.guarantees import (
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
)
from dpfda.lattice import LatticeRelease
from dpfda.noise import LAWS, NoiseLaw
from dpfda.release import NoisyCount, ReleasedFunction

FORMAT = "dpfda-release"
SCHEMA_VERSION = 1
LATTICE_FORMAT = "dpfda-lattice-release"
LATTICE_SCHEMA_VERSION = 1

WORDS = {FORMAT: "dpfda release", LATTICE_FORMAT: "dpfda release on a lattice"}
READERS = {FORMAT: "dpfda.load", LATTICE_FORMAT: "dpfda.LatticeRelease.load"}

Made = TypeVar("Made")


def check_writable(path: str | Path) -> Path:
    """Make sure that a file can be written there, before anything is charged or drawn.

    Raises
    ------
    StorageError
        If its folder does not exist or cannot be written to, or the path is a folder.
    """
    target = Path(path)
    folder = target.parent
    if target.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise StorageError(
            f"The output path must be a file in an existing folder that can be written to; found "
            f"{str(target)!r}. Create the folder or choose another path."
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise StorageError(f"The output file {str(target)!r} exists and cannot be overwritten.")
    return target


def write_text(path: str | Path, text: str) -> Path:
    """Write a file whole or not at all."""
    target = check_writable(path)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as handle:
            temporary = Path(handle.name)
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise StorageError(f"{str(target)!r} could not be written: {error.strerror}.") from None
    return target


def save(release: ReleasedFunction, path: str | Path) -> Path:
    """Write a release to a JSON file."""
    return write_text(path, json.dumps(to_json(release), indent=1, allow_nan=False) + "\n")


def load(path: str | Path, kernel: Any = None) -> ReleasedFunction:
    """Read a release from a JSON file.

    Parameters
    ----------
    path : path
    kernel : callable, optional
        The kernel, where the release was made with a custom function.

    Raises
    ------
    StorageError
        If the file is missing, not a release, of a later schema, or damaged.
    """
    written = _read(path, FORMAT, SCHEMA_VERSION)
    return _built(lambda: from_json(written, kernel), path)


def save_lattice(release: LatticeRelease, path: str | Path) -> Path:
    """Write a release on a lattice to a JSON file."""
    text = json.dumps(lattice_to_json(release), indent=1, allow_nan=False)
    return write_text(path, text + "\n")


def load_lattice(path: str | Path) -> LatticeRelease:
    """Read a release on a lattice from a JSON file; errors as in `load`."""
    written = _read(path, LATTICE_FORMAT, LATTICE_SCHEMA_VERSION)
    return _built(lambda: lattice_from_json(written), path)


def _read(path: str | Path, kind: str, schema: int) -> dict[str, Any]:
    """The content of a file of the given format and schema version."""
    try:
        written = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise StorageError(f"{str(path)!r} could not be read: {error.strerror}.") from None
    except ValueError:
        raise StorageError(f"{str(path)!r} must be a JSON file; found something else.") from None
    found = written.get("format") if isinstance(written, dict) else None
    if found != kind:
        known = found if found in READERS else "another kind of file"
        remedy = f" Read it with {READERS[found]}." if found in READERS else ""
        raise StorageError(f"{str(path)!r} must be a {WORDS[kind]}; found {known}.{remedy}")
    if written.get("schema_version") != schema:
        raise StorageError(
            f"{str(path)!r} must have schema version {schema}; found "
            f"{written.get('schema_version')!r}. Update dpfda to read later files."
        )
    return dict(written)


def _built(make: Callable[[], Made], path: str | Path) -> Made:
    try:
        return make()
    except StorageError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StorageError(
            f"{str(path)!r} is damaged: {type(error).__name__} while reading it."
        ) from None


def to_json(release: ReleasedFunction) -> dict[str, Any]:
    """Everything in a release as JSON types, in the order in which a person would read it."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "guarantee": _guarantee_to_json(release.guarantee),
        "guarantee_recomputed": _guarantee_to_json(release.stated),
        "neighbours": str(release.neighbours),
        "privacy_unit": release.unit,
        "bound": dict(release.bound),
        "mechanism": dict(release.mechanism),
        "about": dict(release.about),
        "order": release.order,
        "noisy_sum": list(release.noisy_sum),
        "exponent": release.exponent,
        "divisor": _divisor_to_json(release.divisor),
        "shrinkage": release.shrinkage.tolist(),
        "center": release.center.tolist(),
        "noise": _noise_to_json(release.noise),
        "basis": release.basis.to_json(),
    }


def from_json(written: dict[str, Any], kernel: Any = None) -> ReleasedFunction:
    """Build a release from JSON types."""
    release = ReleasedFunction(
        basis=_basis_from_json(written["basis"], kernel),
        noisy_sum=tuple(int(value) for value in written["noisy_sum"]),
        exponent=int(written["exponent"]),
        divisor=_divisor_from_json(written["divisor"]),
        shrinkage=np.array(written["shrinkage"], dtype=float),
        center=np.array(written["center"], dtype=float),
        noise=_noise_from_json(written["noise"]),
        guarantee=_guarantee_from_json(written["guarantee"]),
        stated=_guarantee_from_json(written["guarantee_recomputed"]),
        neighbours=Neighbours.parse(written["neighbours"]),
        unit=str(written["privacy_unit"]),
        bound=written["bound"],
        mechanism=written["mechanism"],
        about=written["about"],
        order=int(written["order"]),
    )
    parts = (release.noisy_sum, release.shrinkage, release.basis.eigenvalues)
    if {len(part) for part in parts} != {release.noise.components}:
        raise ValueError("coefficients, factors, functions and scales differ in number")
    if release.center.shape != release.grid_points.shape or not release.count > 0:
        raise ValueError("the center must fit the grid and the divisor be positive")
    return release


def lattice_to_json(release: LatticeRelease) -> dict[str, Any]:
    """Everything in a release on a lattice as JSON types."""
    return {
        "format": LATTICE_FORMAT,
        "schema_version": LATTICE_SCHEMA_VERSION,
        "guarantee": _guarantee_to_json(release.guarantee),
        "guarantee_recomputed": _guarantee_to_json(release.stated),
        "neighbours": str(release.neighbours),
        "privacy_unit": release.unit,
        "sensitivity": str(release.sensitivity),
        "about": dict(release.about),
        "domain_range": [list(ends) for ends in release.domain_range],
        "degree": release.degree,
        "exponent": release.exponent,
        "laplace_scale": release.scale,
        "noisy_values": list(release.noisy_values),
    }


def lattice_from_json(written: dict[str, Any]) -> LatticeRelease:
    """Build a release on a lattice from JSON types."""
    return LatticeRelease(
        noisy_values=tuple(int(value) for value in written["noisy_values"]),
        degree=int(written["degree"]),
        domain_range=tuple((float(start), float(end)) for start, end in written["domain_range"]),
        exponent=int(written["exponent"]),
        scale=int(written["laplace_scale"]),
        sensitivity=Fraction(written["sensitivity"]),
        guarantee=_guarantee_from_json(written["guarantee"]),
        stated=_guarantee_from_json(written["guarantee_recomputed"]),
        neighbours=Neighbours.parse(written["neighbours"]),
        unit=str(written["privacy_unit"]),
        about=written["about"],
    )


_GUARANTEES: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "pure": (PureDP, ("epsilon",)),
    "approximate": (ApproximateDP, ("epsilon", "delta")),
    "zero-concentrated": (ZeroConcentratedDP, ("rho",)),
}


def _guarantee_to_json(guarantee: Guarantee) -> dict[str, Any]:
    for kind, (made, names) in _GUARANTEES.items():
        if isinstance(guarantee, made):
            exact = {name: getattr(guarantee, name) for name in names}
            return {
                "kind": kind,
                **{name: float(value) for name, value in exact.items()},
                "exact": {name: str(value) for name, value in exact.items()},
                "words": str(guarantee),
            }
    raise StorageError(f"No way to write a guarantee of type {type(guarantee).__name__}.")


def _guarantee_from_json(written: dict[str, Any]) -> Guarantee:
    made, names = _GUARANTEES[written["kind"]]
    guarantee: Guarantee = made(*(Fraction(written["exact"][name]) for name in names))
    return guarantee


def _noise_to_json(noise: NoiseLaw) -> dict[str, Any]:
    fields = {k: list(v) if isinstance(v, tuple) else v for k, v in vars(noise).items()}
    return {"law": noise.law, "words": noise.describe(), **fields}


def _noise_from_json(written: dict[str, Any]) -> NoiseLaw:
    law = LAWS[written["law"]]
    values = {field.name: written[field.name] for field in dataclasses.fields(law)}
    made: Callable[..., NoiseLaw] = law
    return made(**{k: tuple(map(int, v)) if isinstance(v, list) else v for k, v in values.items()})


def _divisor_to_json(divisor: float | NoisyCount) -> dict[str, Any]:
    if isinstance(divisor, NoisyCount):
        return {
            "kind": "noisy count",
            "noisy": divisor.noisy,
            "scale": divisor.scale,
            "noise": _noise_to_json(divisor.noise),
        }
    return {"kind": "public", "value": divisor}


def _divisor_from_json(written: dict[str, Any]) -> float | NoisyCount:
    if written["kind"] == "noisy count":
        noise = _noise_from_json(written["noise"])
        return NoisyCount(int(written["noisy"]), int(written["scale"]), noise)
    if written["kind"] == "public":
        return float(written["value"])
    raise ValueError(f"unknown divisor {written['kind']!r}")


def _basis_from_json(written: dict[str, Any], kernel: Any) -> Basis:
    if written["kind"] == "kernel":
        return KernelBasis.from_json(written, kernel)
    if written["kind"] == "Bernstein":
        return BernsteinBasis.from_json(written)
    if written["kind"] in CLOSED_FORMS:
        return CLOSED_FORMS[written["kind"]].from_json(written)
    raise StorageError(f"Unknown kind of basis {written['kind']!r}; update dpfda?")
