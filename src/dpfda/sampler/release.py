"""Released samplers of curves, of all units or by group: moments, laws of scores, synthetic curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpfda.bases import Basis
from dpfda.bases.grids import frozen
from dpfda.noise import NoiseLaw
from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import MOST_NUMBERS, seeded, whole
from dpfda.numerics.words import so_many
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.words import first_up, number
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked
from dpfda.releases.base import LEVEL, Column, OfPoints, Release
from dpfda.releases.facts import Stated
from dpfda.releases.function import OfGroups
from dpfda.releases.moments import Moments, OfMoments, noise_on_counts
from dpfda.releases.promise import AddedNoise
from dpfda.spine.memberships import divided
from dpfda.spine.vectors import bound_words
from dpfda.views import Curve, Line, Table

if TYPE_CHECKING:
    from skfda import FDataGrid

# Ends of the bins of scores in their deviations: finer where most are, and open beyond the last.
EDGES = np.concatenate([-np.geomspace(0.15, 5, 8)[::-1], [0.0], np.geomspace(0.15, 5, 8)])
BINS = EDGES.size - 1
# Means of scores that are even in each bin, and of their squares.
MIDDLES = (EDGES[1:] + EDGES[:-1]) / 2
SQUARES = MIDDLES**2 + np.diff(EDGES) ** 2 / 12
# Ends of the bins of lengths of what is left outside the leading functions: parts of the largest.
LEFT = np.concatenate([[0.0], 1.5 ** np.arange(1.0 - BINS, 1.0)])
# A tenth of the units with the least or most left, where noise is among few, is taken to be as the next;
# more where so many deviations of the noise are.
TRIMMED, BEYOND_NOISE = 0.05, 3.0
# Scores that are counted.
COUNTED = 6
# Counts a unit, as integers.
COUNT = 1 << 20
# A law is taken to be normal, give or take such a part of each bin's share.
ASIDE = 0.3
# Mean and variance of a score are as moments say, 0 and 1, give or take so much.
MEAN_ASIDE, POWER_ASIDE = 0.02, 0.05
# Eigenvalues are no smaller than such a part of the largest.
LEAST = 1e-9
# Shares of the variance that noise alone would give, from which on a remark is made.
NOISY, MOSTLY = 0.25, 0.5
# Synthetic curves in a picture.
SHOWN = 3
UNFIT = (
    "Synthetic curves are no data of anybody. They must not be used to test a hypothesis, to find rare "
    "or extreme curves, to judge single persons, or as if they were more data. What they show was in "
    "the published numbers, with their noise, and nothing else. Groups of unlike curves, details finer "
    "than the public functions, and what hangs together in other ways than by straight lines are not in "
    "them."
)


def normal_shares() -> Floats:
    """Shares (BINS,) of a normal law."""
    return np.diff(scipy.special.ndtr(np.concatenate([[-np.inf], EDGES[1:-1], [np.inf]])))


def score_axes(moments: Moments) -> tuple[Floats, Floats]:
    """Deviations (d,) of scores, decreasing, and directions (D, d), one a column, from the moments."""
    values, vectors = np.linalg.eigh(moments.matrix)
    values, vectors = values[::-1], moments.axes @ vectors[:, ::-1]
    return np.sqrt(np.maximum(values, LEAST * max(values[0], 1e-300))), vectors


def beyond(moments: Moments, functions: int) -> Floats:
    """Orthonormal directions (F, F - d), one a column, that moments leave out."""
    axes = np.pad(moments.axes, ((0, functions - len(moments.axes)), (0, 0)))
    return np.asarray(np.linalg.qr(axes, mode="complete")[0][:, axes.shape[1] :])


def fdatagrid(release: ReleasedCurveSampler, curves: Floats, **more: object) -> FDataGrid:
    """Curves on a release's grid as scikit-fda has them."""
    from dpfda.releases.functional import scikit_fda

    grid, ends = release.grid_points, release.domain_range
    data: FDataGrid = scikit_fda().FDataGrid(curves, grid_points=grid, domain_range=ends, **more)
    return data


def synthetic_table(release: ReleasedCurveSampler, curves: Floats) -> Table:
    """Synthetic curves, one a row, a column a grid point."""
    names = [f"{point:.8g}" for point in release.grid_points]
    return Table(dict(zip(names, curves.T, strict=True)), dict.fromkeys(names, release._axis_label(0)))


@dataclass(frozen=True, eq=False)
class ReleasedCurveSampler(OfPoints, OfMoments):
    """A sampler of synthetic curves; called at points it is the mean curve.

    Parameters
    ----------
    moments : Moments
        Mean and second moments of coefficients in the basis.
    counts : tuple of int
        Noisy counts of scores in bins, component by component, in units of 2^-20 of a unit.
    noise : NoiseLaw
        Of the counts.
    basis : Basis
        Public functions.
    bounds : array (2, m)
        Public bounds on the grid.
    certificate : Certificate
    about : mapping
    """

    moments: Moments = field(metadata=file.itself(Moments.from_json).kept)
    counts: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    noise: NoiseLaw = field(metadata=file.one_scale("counts").kept)
    basis: Basis = field(metadata=file.BASIS.kept)
    bounds: Floats = field(metadata=file.PACKED.kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)

    _FORMAT: ClassVar[str] = "dpfda-curve-sampler"
    _CALLED: ClassVar[str] = "sampler of curves"
    _plural: ClassVar[bool] = True
    _bandless = "how far synthetic curves are from real ones, on the whole, is not known"
    _subject = "synthetic curves"

    def __post_init__(self) -> None:
        super().__post_init__()
        (size, *more), tables = self.moments.blocks, len(self.counts) / BINS
        functions, seen = self.basis.eigenvalues.size, self.moments.seen
        few = len(self.moments.steps) < (1 if seen is None else 3) or size > functions
        few |= seen not in (None, functions)
        # Some files hold lengths of what no function lies beyond: they are left aside.
        if more or few or tables not in (self.components + self._lengths, self.components + 1):
            raise ParameterError("counts", "fit the moments and the functions", len(self.counts))

    # Synthetic curves.

    @property
    def divided_by(self) -> int:
        """Public number of units, or that which sums were divided by."""
        return self.moments.size

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> Floats:
        """Synthetic curves: independent draws. Costs no privacy.

        Parameters
        ----------
        n : int
            How many.
        rng : numpy Generator, seed or None
            The caller's own: this randomness protects nobody. By default from the operating system.

        Returns
        -------
        array (n, m)
            One curve a row on `grid_points`, within the public bounds.
        """
        count, generator = whole(n, "n", 0, MOST_NUMBERS), seeded(rng, "rng")
        deviations, directions = score_axes(self.moments)
        scores = generator.standard_normal((count, deviations.size))
        for place, shares in enumerate(self.score_laws):
            bins = generator.choice(BINS, size=count, p=shares)
            drawn = EDGES[bins] + generator.uniform(size=count) * np.diff(EDGES)[bins]
            scale, shift = self._placed[place]
            scores[:, place] = drawn * scale + shift
        rows = (scores * deviations) @ directions.T + self.moments.centre
        curves = self.bounds.mean(axis=0) + rows @ self._at_grid[:, : rows.shape[1]].T
        outside = self._at_grid @ beyond(self.moments, self.basis.eigenvalues.size)
        if self._left is not None and outside.shape[1]:
            rough = generator.standard_normal((count, outside.shape[1]))
            bins = generator.choice(BINS, size=count, p=self._left)
            far = self.moments.bounds[0] * (
                LEFT[bins] + generator.uniform(size=count) * np.diff(LEFT)[bins]
            )
            curves += rough * (far / np.linalg.norm(rough, axis=1))[:, None] @ outside.T
        return np.asarray(np.clip(curves, *self.bounds))

    def sample_fdatagrid(self, n: int, rng: np.random.Generator | int | None = None) -> FDataGrid:
        """Synthetic curves as a ``skfda.FDataGrid`` (extra `fda`); parameters as of `sample`."""
        return fdatagrid(self, self.sample(n, rng))

    @cached_property
    def score_laws(self) -> tuple[Floats, ...]:
        """Shares (BINS,) of the bins of each component that was counted.

        A noisy count h of variance v is drawn to what a normal law has, m: (h a^2 + m v) / (a^2 + v)
        with a the deviation of counts from it that is taken to be usual. Noise then counts for little
        where few units are, and other laws show where there are many.
        """
        counted, normal = self._counted[: self.components], normal_shares()
        expected = self.moments.size * normal
        drawn = np.maximum(expected + self._signal * (counted - expected), 0.0)
        return tuple(frozen(shares / shares.sum() if shares.sum() > 0 else normal) for shares in drawn)

    @property
    def _power(self) -> float:
        """Variance of the noise of a count."""
        return float(self.noise.variances()[0]) / COUNT**2

    @property
    def _signal(self) -> Floats:
        """The part (BINS,) of what a count has beyond a normal law that is not taken to be noise."""
        square = (ASIDE * self.moments.size * normal_shares()) ** 2
        return np.asarray(square / (square + self._power))

    @cached_property
    def _placed(self) -> list[tuple[float, float]]:
        """What scores that are drawn by each law are multiplied by, and what is added then.

        Moments say that the mean is 0 and the variance 1, and are off as far as vectors were shortened;
        counts say otherwise, with noise. The two are averaged by precision.
        """
        noise = self._signal * np.sqrt(self._power) / self.moments.size

        def share(values: Floats, aside: float) -> float:
            return float(aside**2 / (aside**2 + np.sum((values * noise) ** 2)))

        of_mean, of_power, placed = share(MIDDLES, MEAN_ASIDE), share(SQUARES, POWER_ASIDE), []
        for shares in self.score_laws:
            mean = float(shares @ MIDDLES)
            power = float(shares @ SQUARES) - mean**2
            scale = float(np.sqrt((1 + of_power * (power - 1)) / power))
            placed.append((scale, (of_mean - scale) * mean))
        return placed

    @property
    def _counted(self) -> Floats:
        return np.array(self.counts, dtype=np.float64).reshape(-1, BINS) / COUNT

    @cached_property
    def _left(self) -> Floats | None:
        """Shares (BINS,) of lengths of what is left; None in earlier files, which lack it."""
        if not self._lengths:
            return None
        running, bins = np.cumsum(self._counted[-1]) / self.moments.size, np.arange(1, BINS + 1)
        # That all units are in some bin is public: what noise adds to the sum is shared out.
        running += (1.0 - running[-1]) * bins / BINS
        share = np.clip(scipy.optimize.isotonic_regression(running).x, 0.0, 1.0)
        noise = np.sqrt(bins * (1 - bins / BINS) * self.noise.variances()[-1]) / COUNT
        noise /= self.moments.size
        least = np.maximum(TRIMMED, BEYOND_NOISE * noise)
        share = np.where(share < least, 0.0, np.where(share > 1 - least, 1.0, share))
        share = np.maximum.accumulate(share)
        share[-1] = 1.0
        return frozen(np.diff(share, prepend=0.0))

    @property
    def components(self) -> int:
        """Number of scores whose law was measured; the others are normal."""
        return min(COUNTED, self.moments.blocks[0])

    @property
    def _lengths(self) -> bool:
        """Whether functions lie beyond the leading ones, and lengths are counted."""
        return self.basis.eigenvalues.size > self.moments.blocks[0]

    def _values(self, at: Floats) -> Floats:
        """The mean curve."""
        return np.interp(at, self.grid_points, self._mean)

    @cached_property
    def _at_grid(self) -> Floats:
        return frozen(self.basis.evaluate(self.grid_points))

    @cached_property
    def _mean(self) -> Floats:
        raw = self._at_grid[:, : self.moments.mean.size] @ self.moments.centre
        return frozen(np.clip(self.bounds.mean(axis=0) + raw, *self.bounds))

    # Its file.

    @property
    def _all_noise(self) -> list[AddedNoise]:
        *pure, last = super()._all_noise
        moved = len(self.counts) // BINS * self.neighbours.differences(COUNT)
        # The last one is that which may need a delta or a rho.
        return [*pure, noise_on_counts(self.noise, moved, COUNT, len(pure) + 1), last]

    def _stated_bound(self) -> dict[str, object]:
        return {"description": bound_words(*self.bounds)}

    # Words and pictures.

    def _drawn_sample(self, count: int) -> Table:
        return synthetic_table(self, self.sample(count))

    def view(self, level: float | None = LEVEL) -> Curve:
        at = self.grid_points
        drawn = [Line(at, line, f"synthetic {i + 1}") for i, line in enumerate(self.sample(SHOWN, 1))]
        return noted(self._curve([Line(at, self._mean, "mean"), *drawn]), self.moments.noise_share)

    def _stated(self) -> Stated:
        return Stated(
            f"Synthetic curves over {self._spoken_domain}: as many as anyone likes can be drawn. They "
            "are made of a published mean, of how curves vary around it "
            f"(in {so_many(self.moments.blocks[0], 'function')}), and of how often they do so little or "
            f"much (in {so_many(self.components, 'way')}).",
            public=[f"the grid and the domain: {self._spoken_domain}", *self._divided],
            noise="; ".join(law.describe() for law in (self.moments.laws[-1], self.noise)),
            bounded=["Values outside their bounds count as the nearest end."],
            first=[*self._noisy, UNFIT],
            numbers={"noise_share": self.moments.noise_share},
        )

    @property
    def _noisy(self) -> list[str]:
        """That synthetic curves show noise, where they do so to a large part."""
        share = self.moments.noise_share
        words = f"{'most' if share > MOSTLY else 'much'} of what synthetic curves show may be noise: "
        words += f"noise alone would give {number(100 * share)} per cent of how they vary. "
        words += "Narrower bounds, a larger epsilon or more curves make it less."
        return [first_up(words)] if share > NOISY else []

    def _lines(self) -> dict[str, str]:
        share = self.moments.noise_share
        noisy = {"noise": f"alone it would give {100 * share:.0f} per cent of how they vary"}
        shown = {"synthetic": f".sample(n): curves by {self.components} measured scores"}
        return shown | (noisy if share > NOISY else {})


def noted(view: Curve, share: float) -> Curve:
    """A picture, under whose title stands how much of what it shows may be noise, where it is much."""
    words = f"; noise alone would give {number(100 * share)} per cent of how they vary"
    return replace(view, subtitle=view.subtitle + words) if share > NOISY else view


@dataclass(frozen=True, eq=False)
class ReleasedCurveSamplers(OfGroups[ReleasedCurveSampler]):
    """Samplers of synthetic curves of disjoint groups, released at the cost of one.

    Parameters
    ----------
    means : mapping from str to ReleasedCurveSampler
        The sampler of every group, by name, ``release["case"]``: called at points it is that group's
        mean. All carry one certificate: one charge paid for them.
    """

    means: Mapping[str, ReleasedCurveSampler] = field(
        metadata=file.named_means(ReleasedCurveSampler, "sampler").named("groups").kept
    )

    _FORMAT: ClassVar[str] = "dpfda-curve-samplers"
    _CALLED: ClassVar[str] = "release of samplers by group"
    _plural: ClassVar[bool] = True
    _bandless = ReleasedCurveSampler._bandless
    _subject = "synthetic curves by group"

    @property
    def divided_by(self) -> int:
        """Public number of units of all groups, or those which sums were divided by."""
        return sum(sampler.divided_by for sampler in self.means.values())

    def sample(
        self, n: int, rng: np.random.Generator | int | None = None
    ) -> tuple[Floats, NDArray[np.str_]]:
        """Synthetic curves of all groups, in proportion to their public sizes. Costs no privacy.

        Parameters
        ----------
        n : int
            How many in all.
        rng : numpy Generator, seed or None
            As in `ReleasedCurveSampler.sample`.

        Returns
        -------
        array (n, m), array (n,)
            One curve a row on `grid_points`, group after group; and the name of each one's group.
        """
        count, generator = whole(n, "n", 0, MOST_NUMBERS), seeded(rng, "rng")
        sizes = divided(count, [part.divided_by for part in self.means.values()], 0)
        drawn = [
            part.sample(size, generator) for part, size in zip(self.means.values(), sizes, strict=True)
        ]
        return np.concatenate(drawn), np.repeat(np.array(self.names), sizes)

    def sample_fdatagrid(self, n: int, rng: np.random.Generator | int | None = None) -> FDataGrid:
        """The same as a ``skfda.FDataGrid`` (extra `fda`): groups are its `sample_names`."""
        curves, names = self.sample(n, rng)
        return fdatagrid(self._any, curves, sample_names=names)

    @property
    def public_units(self) -> int | None:
        sizes = [sampler.public_units for sampler in self.means.values()]
        return None if None in sizes else sum(filter(None, sizes))

    # Tables, pictures and words.

    def _drawn_sample(self, count: int) -> Table:
        curves, names = self.sample(count)
        group, table = str(self.about.get("group", "group")), synthetic_table(self._any, curves)
        columns = {group: names, **table.columns}
        return Table(columns, {group: "group", **table.meanings})  # type: ignore[arg-type]

    def _columns(self, at: Floats, request: Asked) -> dict[str, Column]:
        return {
            f"mean {name}": Release._columns(sampler, at, request)["value"]
            for name, sampler in self.means.items()
        }

    def view(self, level: float | None = LEVEL) -> Curve:
        at = self.grid_points
        lines = [Line(at, np.asarray(sampler(at)), name) for name, sampler in self.means.items()]
        return noted(self._curve(lines), self._noisiest.moments.noise_share)

    def _stated(self) -> Stated:
        composition, own = self.describe_composition(), self._any._stated()
        return Stated(
            f"Synthetic curves of {len(self.names)} groups ({', '.join(self.names)}): as many as anyone "
            "likes can be drawn of each. The promise is for all groups together.",
            protected=[f"{first_up(composition)}."],
            public=own.public,
            noise=own.noise,
            bounded=own.bounded,
            numbers={"groups": list(self.names), "composition": composition},
            first=[*self._noisiest._noisy, UNFIT],
        )

    @property
    def _noisiest(self) -> ReleasedCurveSampler:
        """The sampler of the group where noise shows most."""
        return max(self.means.values(), key=lambda sampler: sampler.moments.noise_share)

    def _lines(self) -> dict[str, str]:
        lines = {name: sampler._lines().get("noise") for name, sampler in self.means.items()}
        return super()._lines() | {f"noise {name}": words for name, words in lines.items() if words}
