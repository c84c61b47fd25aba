"""A released density with atoms: values that many units have exactly, and the density of the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.cells import CLOSE
from dpfda.density.histogram_release import ReleasedHistogram
from dpfda.density.linear_density import check_levels
from dpfda.density.release import ReleasedDensity
from dpfda.numerics.arrays import Floats
from dpfda.numerics.parameters import seeded
from dpfda.numerics.words import several
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, check_level, settled
from dpfda.releases.base import LEVEL, Column
from dpfda.releases.facts import Stated
from dpfda.views import Curve, Line, View


class Atom(NamedTuple):
    """A value, the share of the units that have it, and the ends of its band."""

    value: float
    mass: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class ReleasedDensityWithAtoms(ReleasedDensity):
    """The shares of units at stated values, and the density of all others, under differential privacy.

    `dpfda.PrivateDensity` makes it where `dpfda.Domain` states atoms. A call gives the density of the
    units that are at no atom, of integral one less their masses. `cdf` jumps at the atoms; `quantile`,
    `sample` and `integral` are of both.

    Parameters
    ----------
    raw : ReleasedHistogram
        Noisy counts of cells and of atoms.
    scale
        As in `dpfda.ReleasedDensity`.
    stated : tuple of float
        The atoms, increasing, in the units of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import Domain, PrivateDensity
    >>> rng = np.random.default_rng(1)
    >>> hours = np.where(rng.random(3000) < 0.3, 0.0, rng.normal(35, 8, 3000))
    >>> release = PrivateDensity(epsilon=1, domain=Domain(None, (0, 60), atoms=[0])).fit(hours).release_
    >>> (atom,) = release.atoms
    >>> atom.value, bool(0.28 < atom.mass < 0.32), release.quantile(0.2), bool(release(1.0) < 0.005)
    (0.0, True, 0.0, True)
    """

    raw: ReleasedHistogram
    stated: tuple[float, ...] = ()

    _FORMAT: ClassVar[str] = "dpfda-density-with-atoms"
    _CALLED: ClassVar[str] = "released density with atoms"
    _ENTRIES: ClassVar[file.Table] = {
        "scale": ReleasedDensity._ENTRIES["scale"],
        "raw": file.part(ReleasedHistogram),
        "stated": file.NUMBERS.named("atoms"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        ((a, b),), ((start, end),) = self.domain_range, self.raw.cells.domain_range
        if len(self.raw.cells.atoms) != len(self.stated) or not self.stated:
            raise ValueError("there is a count for each atom")
        if not a <= self.stated[0] <= self.stated[-1] <= b or np.any(np.diff(self.stated) <= 0):
            raise ValueError("atoms lie in the domain, in their order")
        counted = self._positions(np.array(self.stated)[:, None])[:, 0] - self.raw.cells.atoms
        if np.any(np.abs(counted) > CLOSE * (end - start)):
            raise ValueError("atoms are where they were counted")

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """Each atom with the share of the units that are there, and its band for all at once at 95 %."""
        band = self.atoms_band()
        rows = zip(self.stated, self.raw.atom_shares, band.lower, band.upper, strict=True)
        return tuple(Atom(*map(float, row)) for row in rows)

    def atoms_band(self, level: float = LEVEL) -> Band:
        """Band for the shares of the units at the atoms, for all at once.

        Whatever the data are: noise on counts is independent, and its law is known; that of Laplace
        noise in shares is simulated. Where the number of units is private, shares are over the
        released one.
        """
        beyond = 1 - check_level(level) ** (1 / len(self.stated))
        width = self.raw.noise_reach(beyond) * self.raw.size / self.raw.total
        lower, upper = (np.clip(self.raw.noisy_atoms + far, 0.0, 1.0) for far in (-width, width))
        return settled(Band(np.array(self.stated), lower, upper, level, True), self.raw.atom_shares)

    @property
    def _kept(self) -> float:
        """Share of the units that are at no atom."""
        return max(0.0, 1 - float(self.raw.atom_shares.sum()))

    @cached_property
    def _others(self) -> ReleasedDensity:
        """The density of the units that are at no atom, of integral one."""
        return ReleasedDensity(self.raw, self.scale, smooth=self.smooth)

    @property
    def _nearest(self) -> tuple[Floats, float | None]:
        return self._kept * self._others.node_values, None

    def integral(self, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> float:
        ends = (self._corner(lower, "lower", 0)[0], self._corner(upper, "upper", 1)[0])
        inside = (np.array(self.stated) >= ends[0]) & (np.array(self.stated) <= ends[1])
        others = self._kept * self._others.integral(lower, upper)
        return others + float(self.raw.atom_shares[inside].sum())

    def cdf(self, points: ArrayLike, axis: int | str = 0) -> float | Floats:
        below = np.append(0.0, np.cumsum(self.raw.atom_shares))
        others = self._kept * self._others.cdf(points, axis)
        shares = others + below[np.searchsorted(self.stated, points, side="right")]
        return float(shares) if np.ndim(points) == 0 else shares

    def quantile(self, levels: ArrayLike, axis: int | str = 0) -> float | Floats:
        wanted, masses = check_levels(levels), self.raw.atom_shares
        after = self.cdf(np.array(self.stated))
        passed = after < wanted[:, None]
        left = (wanted - passed @ masses) / (self._kept or 1.0)
        at = (after - masses < wanted[:, None]) & ~passed
        others = self._others.quantile(np.clip(left, 0.0, 1.0), axis)
        quantiles = np.where(at.any(axis=1), np.array(self.stated)[at.argmax(axis=1)], others)
        return float(quantiles[0]) if np.ndim(levels) == 0 else quantiles

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> Floats:
        generator = seeded(rng, "rng")
        drawn = self._others.sample(n, generator)
        shares = np.append(self.raw.atom_shares, self._kept)
        kinds = generator.choice(shares.size, size=drawn.size, p=shares / shares.sum())
        return np.where(kinds < len(self.stated), np.append(self.stated, 0.0)[kinds], drawn)

    def _around(self, at: Floats, asked: Asked) -> Band:
        """That of the others, wider by what noise does to their share; each may fail half as often."""
        part = replace(asked, level=(1 + asked.level) / 2)
        band, masses = self._others._around(at, part), self.atoms_band(part.level)
        least, most = (max(0.0, 1 - float(end.sum())) for end in (masses.upper, masses.lower))
        return replace(band, lower=band.lower * least, upper=band.upper * most, level=asked.level)

    # Tables, pictures and words.

    def _default_points(self) -> Floats:
        return np.union1d(super()._default_points(), self.stated)[:, None]

    def _columns(self, at: Floats, asked: Asked) -> dict[str, Column]:
        masses = (at == np.array(self.stated)) @ self.raw.atom_shares
        return super()._columns(at, asked) | {"atom": (masses, "share of the units at the very point")}

    def view(self, level: float | None = LEVEL) -> View:
        """The density of the others, and a stem at each atom, as high as its share is of the largest."""
        curve = super().view(level)
        assert isinstance(curve, Curve)  # noqa: S101
        top = max(float(np.max(line.values)) for line in curve.lines)
        largest = max(float(np.max(self.raw.atom_shares)), 1e-300)

        def stem(atom: Atom) -> Line:
            height, label = top * atom.mass / largest, f"share at {atom.value:g}: {atom.mass:.1%}"
            ends = np.full(2, atom.value), np.array([0.0, height])
            return Line(*ends, label, stroke="dashed", marked=True)

        return replace(curve, lines=(*curve.lines, *map(stem, self.atoms)))

    def _stated(self) -> Stated:
        shares = [
            f"{atom.mass:.1%} of the {several(self.unit)} have the value {atom.value:g}: between "
            f"{atom.lower:.1%} and {atom.upper:.1%} in the data, with a probability of {LEVEL:.0%}."
            for atom in self.atoms
        ]
        stated = super()._stated()
        return replace(stated, first=[*shares, *stated.first])

    def _numbers(self) -> dict[str, object]:
        return {**super()._numbers(), "atoms": [atom._asdict() for atom in self.atoms]}

    @property
    def _kind_words(self) -> str:
        return (
            f"Shares of units at stated values, and a density of all others over {self._spoken_domain}."
        )
