"""What may be stated for a mean: looks at the records, and public curves that it may be near to."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpfda.bounds import Search
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import entries, reals
from dpfda.spine.settings import Gathered

# Names of two looks, on the command line or in a study, and of a single one.
NAME, ONE = "two-looks", "one-look"


@dataclass(frozen=True, repr=False, eq=False)
class TwoLooks(Gathered):
    """Strategy of a mean between bounds: a rough line first, then the records held close to it.

    The default, ``mechanism="auto"``, where `dpfda.mean.two_looks.may_look` says so. Given as
    ``mechanism=TwoLooks()``, or by its name, "two-looks", it is refused where there cannot be two looks;
    "one-look" is one alone. There is nothing to say: where the number of units times epsilon is below
    5,000 there is one look; elsewhere 3 % of the budget find out how far records lie from the mean, and
    where that is as far as the bounds allow the other 97 % make what one look would.

    Notes
    -----
    The guarantee is proved in the docstring of `dpfda.mean.two_looks`. Records are read three times, so
    there are no streams, Dask arrays or custodians; under add/remove neighbours a public size is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateMean
    >>> curves = np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.2, 0.2, 9000)[:, None]
    >>> mean = PrivateMean(epsilon=10.0, bounds=(-5, 5), mechanism=TwoLooks()).fit(curves)
    >>> mean.release_.certificate.mechanism["name"]
    'two looks'
    """

    def refusal(self, what: str) -> ParameterError:
        """What to raise where there cannot be two looks."""
        remedy = (
            "Two looks need records between bounds that can be read more than once; elsewhere "
            "$mechanism has one."
        )
        words = f"have one look for {what}"
        return ParameterError("mechanism", words, repr(NAME), remedy, mechanism="auto")


def two_looks_of(mechanism: object) -> TwoLooks | None:
    """The strategy, where a mechanism is it or its name."""
    if isinstance(mechanism, TwoLooks):
        return mechanism
    return TwoLooks() if isinstance(mechanism, str) and mechanism == NAME else None


def strategy_of(bounds: object, mechanism: object) -> TwoLooks | Search | None:
    """What of the parameters makes records be read again. Raises ParameterError if both do."""
    looks = two_looks_of(mechanism)
    if isinstance(bounds, Search):
        if looks is not None:
            raise bounds.refusal("two looks")
        return bounds
    return looks


def is_one_look(mechanism: object) -> bool:
    """Whether records are to be asked for one thing alone, the line."""
    return isinstance(mechanism, str) and mechanism == ONE


def mechanism_of_look(mechanism: object) -> object:
    """The mechanism of a single look: the default where looks were stated."""
    of_looks = two_looks_of(mechanism) is not None or is_one_look(mechanism)
    return "auto" if of_looks else mechanism


def refuse_two_looks(mechanism: object, what: str) -> None:
    """Raise ParameterError where a mechanism is two looks, which there are not for something."""
    if (strategy := two_looks_of(mechanism)) is not None:
        raise strategy.refusal(what)


@dataclass(frozen=True, eq=False)
class PublicCurve:
    """A public curve that is known at some points, and linear from each to the next.

    Parameters
    ----------
    points : array (k,)
        Strictly increasing, in the units of the domain.
    values : array (k,)
        In the units of the data.

    Raises
    ------
    ParameterError
        If there are fewer than two points, or they are not finite and increasing.
    """

    points: Floats
    values: Floats

    def __post_init__(self) -> None:
        finite = np.all(np.isfinite(self.points)) and np.all(np.isfinite(self.values))
        if self.points.size < 2 or not finite or np.any(np.diff(self.points) <= 0):
            words = "have points and finite values, the points in increasing order"
            others = " in another order or not finite" if self.points.size > 1 else ""
            raise ParameterError("prior", words, f"{self.points.size} of them{others}")

    @classmethod
    def read(cls, path: Path) -> PublicCurve:
        """Read the first two columns of a CSV table, such as `dpfda mean --csv` writes.

        Parameters
        ----------
        path : path
            Points and values, a pair a row; a first row of other words is a header.

        Raises
        ------
        ParameterError
            If a row after the first does not hold two numbers.
        """
        try:
            with path.open(encoding="utf-8-sig", newline="") as lines:
                rows = [row for row in csv.reader(lines) if row]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise ParameterError("prior", "be a readable CSV table", f"{path} ({error})") from None
        pairs = []
        for number, row in enumerate(rows):
            try:
                point, value = (float(cell) for cell in row[:2])
            except ValueError:
                if number == 0:
                    continue
                constraint = "have a point and a value in the first two columns of every row"
                raise ParameterError("prior", constraint, f"row {number + 1} of {path}") from None
            pairs.append((point, value))
        points, values = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
        return cls(points, values)

    @property
    def domain_range(self) -> tuple[float, float]:
        """First and last point."""
        return float(self.points[0]), float(self.points[-1])

    def __call__(self, at: Floats) -> Floats:
        """Values (k,) at points (k,) between the first and the last.

        Raises
        ------
        ParameterError
            If one is outside.
        """
        start, end = self.domain_range
        if np.min(at) < start or np.max(at) > end:
            words = f"cover the grid, which goes from {np.min(at):g} to {np.max(at):g}"
            raise ParameterError("prior", words, f"a curve from {start:g} to {end:g}")
        return np.interp(at, self.points, self.values)


def read_public_curves(prior: object, grid: Floats) -> Floats | None:
    """Values (C, m) on the grid of one public curve or several; None without any.

    Parameters
    ----------
    prior : array (m,) or (C, m), callable, or a list of them
        Callables, releases among them, take points of the domain and return values.
    grid : array (m,)
        Public grid.

    Raises
    ------
    ParameterError
        If one does not fit the grid or is not finite.

    Examples
    --------
    >>> read_public_curves([np.cos, [1.0, 0.5, 0.0]], np.linspace(0, 1, 3)).shape
    (2, 3)
    """
    if prior is None:
        return None
    several = isinstance(prior, list | tuple) and any(
        callable(part) or np.ndim(part) > 0 for part in prior
    )
    return np.concatenate([_values(curve, grid) for curve in (entries(prior) if several else [prior])])


def _values(curve: object, grid: Floats) -> Floats:
    try:
        values = np.atleast_2d(reals(curve(grid) if callable(curve) else curve, "prior"))
    except (TypeError, ValueError, OverflowError) as error:
        if callable(curve) and isinstance(error, ParameterError):
            raise
        raise ParameterError(
            "prior", "be curves on the grid, or functions", type(curve).__name__
        ) from None
    if values.ndim != 2 or values.shape[1] != grid.size or not np.all(np.isfinite(values)):
        words = f"have {grid.size} finite values a curve, one a grid point"
        shape = f"an array of shape {values.shape}" if np.all(np.isfinite(values)) else "NaN or infinity"
        remedy = "Pass a function of the domain, or a release, for curves on another grid."
        raise ParameterError("prior", words, shape, remedy)
    return values
