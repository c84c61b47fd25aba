"""What deviations a covariance is made of: their center, their public length, and pairs of units."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dpfda.bases import Basis
from dpfda.bounds import L2Ball, ValueBounds, read_bounds
from dpfda.covariance.components_release import deviation_bound
from dpfda.covariance.strategies import PAIRED, SCORES_SHARE, Center, mean_share, radius_share
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import InPython, ParameterError
from dpfda.numerics.parameters import below_one, curve, reals, shown
from dpfda.privacy.guarantees import Guarantee, Neighbours, pure_part
from dpfda.records import Curves
from dpfda.records.labels import key_order, read_keys
from dpfda.spine.arguments import Bounds


def matching(units: int) -> NDArray[np.intp]:
    """A random order (n,) of units, from the operating system's entropy: neighbours in it are paired.

    It is drawn without a look at any data, so that the guarantee holds given the order, whatever it is.
    """
    return np.argsort(np.frombuffer(os.urandom(8 * units), dtype=np.uint64), kind="stable")


@dataclass(frozen=True, eq=False, repr=False)
class Paired(Curves):
    """Records (x - x') / sqrt(2) of pairs of units, and the units by themselves, in a random order."""

    units: Curves


@dataclass(frozen=True, eq=False)
class Deviations:
    """How deviations are taken: the bound on a record, the center, the length. Public.

    Parameters
    ----------
    bounds : pair or Bound
        As an estimator takes it.
    center : Center
    standardize : bool
        Whether curves are standardised.
    """

    bounds: Bounds
    center: Center
    standardize: bool

    @property
    def word(self) -> str | None:
        """The center where it is a word: "auto", "private", "pairs" or "bound"."""
        word = "auto" if self.center.curve is None else self.center.curve
        if not isinstance(word, str):
            return None
        words = "be 'auto', 'private', 'pairs', 'bound', a curve or a function"
        if word not in ("auto", "private", "pairs", "bound"):
            raise ParameterError("center", words, repr(word))
        return word

    def settled(
        self, guarantee: Guarantee, size: int | None, neighbours: Neighbours, scores: bool
    ) -> Deviations:
        """With a center in the place of "auto", and all shares, from public numbers alone.

        Parameters
        ----------
        guarantee : Guarantee
            Of the whole release.
        size : int or None
            Number of units, where it is public.
        neighbours : Neighbours
        scores : bool
            Whether components are sought, whose scores need an origin.
        """
        strength = None if size is None else size * pure_part(guarantee).epsilon
        word, center = self.word, self.center
        if word == "auto":
            replaced = neighbours is Neighbours.REPLACE_ONE
            few = strength is not None and strength < PAIRED
            word = "pairs" if replaced and few else "private"
            center = center.but(curve=word)
            if word == "pairs" and scores and center.mean_share is None:
                center = center.but(mean_share=SCORES_SHARE)
        if word == "private" and center.mean_share is None:
            center = center.but(mean_share=mean_share(strength))
        if center.radius_share is None:
            center = center.but(radius_share=radius_share(strength))
        return replace(self, center=center)

    @property
    def mean_share(self) -> Fraction | None:
        """Share of the budget for a mean, as the center or beside pairs; None where there is none."""
        share = self.center.mean_share
        released = self.word in ("private", "pairs") and share is not None
        return below_one(share, "mean_share") if released else None

    @property
    def chosen(self) -> bool:
        """Whether the length is chosen privately."""
        radius = self.center.radius
        if isinstance(radius, str) and radius != "private":
            raise ParameterError("radius", "be a positive length or 'private'", repr(radius))
        measured = self.word == "private" or (self.word == "pairs" and not self.unbounded)
        return isinstance(radius, str) or (radius is None and measured)

    @property
    def unbounded(self) -> bool:
        """Whether records have no bound of their own."""
        return self.bounds is None and not self.standardize

    @cached_property
    def bound(self) -> ValueBounds | L2Ball:
        """The bound on a record: as given, or the ball of `radius` around a public center.

        Raises
        ------
        ParameterError
            If there is none, or one that does not bound the l2 length of a deviation.
        """
        if self.unbounded and self.center.radius is not None and not self.chosen:
            if self.word in ("auto", "private", "bound"):
                words = "be given where the center is not"
                remedy = "Pass a public curve as $center, or $bounds."
                raise ParameterError("bounds", words, "None", remedy, center=InPython("center"))
            return L2Ball(cast("float", self.center.radius))
        bound = read_bounds(self.bounds, self.standardize)
        if not isinstance(bound, ValueBounds | L2Ball):
            words = "be (lower, upper), ValueBounds or L2Ball for a covariance"
            remedy = "Outer products are bounded through the l2 length of a deviation."
            raise ParameterError("bounds", words, type(bound).__name__, remedy)
        return bound

    def center_on(self, grid: Floats) -> Floats | None:
        """The public center on the grid (m,); None where it is private.

        Raises
        ------
        ParameterError
            If it does not fit the grid, is not finite, or a released function has another domain.
        """
        center: object = self.center.curve
        if self.word == "private":
            return None
        if isinstance(center, str):
            return self.bound.center_on(grid)
        if isinstance(center, type):
            raise ParameterError("center", "be a curve, a number or a function", shown(center))
        if callable(center):
            center = center(grid)
        try:
            reals(center, "center")
        except ParameterError:
            raise ParameterError("center", "be a curve, a number or a function", shown(center)) from None
        values = np.asarray(curve(center, "center"))
        if values.shape not in ((), grid.shape):
            raise ParameterError(
                "center", f"be finite with one value a grid point ({grid.size})", f"shape {values.shape}"
            )
        return np.asarray(values * np.ones_like(grid))

    def radius_on(self, basis: Basis, center: Floats | None) -> float:
        """Public length of a deviation: `radius`, but no more than bounds and center imply; the largest.

        With a private center, whose place is not yet known, bounds (l, u) imply |u - l| and a ball twice
        its radius: the released mean is moved into the bound.
        """
        bound, stated = self.bound, self.center
        grid, weights = basis.grid_points, basis.weights
        own = bound.center_on(grid)
        implied = 2 * bound.radius_on(grid, weights)
        if self.word == "pairs":
            # |x - x'| / sqrt(2) for two records of the bound.
            implied /= np.sqrt(2.0)
        elif center is not None:
            away = np.abs(center - own)
            if isinstance(bound, ValueBounds):
                # |x - c| <= |x - own| + |own - c| at every point, attained at one of the two bounds.
                lower, upper = bound.curves_on(grid)
                implied = float(np.sqrt(np.sum(weights * ((upper - lower) / 2 + away) ** 2)))
            else:
                implied = bound.radius_on(grid, weights) + float(np.sqrt(np.sum(weights * away**2)))
        if stated.radius is None or self.chosen:
            return implied
        radius = L2Ball(cast("float", stated.radius)).radius
        return radius if self.unbounded else min(radius, implied)

    def described(self, radius: float) -> dict[str, object]:
        """The bound as JSON types: on deviations, and on records where one was given."""
        how = "a radius that is chosen privately, at most" if self.chosen else "radius"
        return deviation_bound(how, radius, None if self.unbounded else self.bound)

    def paired(self, curves: Curves, groups: object) -> Paired:
        """Records (x - x') / sqrt(2) of pairs of units; unusable where either is.

        Every unit is in at most one pair, and which pair does not depend on its data. Units have places:
        without `groups` in the order of the rows of a table, with them in that of the labels, which no
        unit can change; records of irregular curves go by their labels too, since the order of
        observations may tell when they were made. Places are paired at random (`matching`). So for every
        outcome of the pairing one unit in the place of another changes one record, and the guarantee
        holds given the outcome, hence on average over it.
        """
        values, usable = curves.values, curves.usable
        bound = None if self.unbounded else self.bound
        if isinstance(bound, ValueBounds):
            values = np.clip(values, np.asarray(bound.lower), np.asarray(bound.upper))
        if groups is not None:
            # In the order in which `unit_codes` numbers them.
            keys = list(dict.fromkeys(read_keys(groups, "groups", "repair")))
            order = sorted(range(len(keys)), key=lambda unit: key_order(keys[unit]))
            values, usable = values[order], usable[order]
        count = values.shape[0] // 2 * 2
        matched = matching(values.shape[0])
        values, usable = values[matched], usable[matched]
        # Halves first: the difference of the largest doubles stays finite.
        half = values[:count] / 2
        difference = (half[0::2] - half[1::2]) * np.sqrt(2.0)
        both = usable[0:count:2] & usable[1:count:2]
        units = replace(curves, values=values, usable=usable)
        return Paired(np.where(both[:, None], difference, 0.0), both, units)
