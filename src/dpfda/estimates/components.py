"""Components of the prior of the default mean of curves: factors, fits to what was seen, and weights.

What the components are, and why, is said in `dpfda.estimates.curves`; the constants here
belong to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

import numpy as np

from dpfda.bases.grids import frozen
from dpfda.numerics.arrays import Floats
from dpfda.numerics.speed import remembered

RANGES, SMOOTH, ROUGH, LEVELS = (0.1, 0.3, 1.0), (4.0, 6.0, 8.0), (2.0, 3.0), (1.0, 1e4)
# Scales are 10^(-2k/3): the shapes take the first ten, public curves and the local component all.
SCALES: Floats = np.asarray(10.0 ** (-2 / 3 * np.arange(12)))
KEPT = 10
MEAN_SQUARE = 0.25
LOCAL_WIDTH, LOCAL_FLOOR = 0.02, 0.05
LOCAL_LEVEL, LOCAL_SLOPE = 5.0, np.sqrt(3.0)
# Prior weights, up to a factor, of a scale of each kind of component, for the line.
LINE: Mapping[str, float] = {"smooth": 1.0, "rough3": 0.03, "rough2": 0.03, "local": 2.0, "cycle": 6.0}
# Known cycles: shares of the variance that are theirs, beside so many smooth functions of range .3.
CYCLES, BESIDE, BESIDE_RANGE = (0.1, 0.5, 0.9), 20, 0.3
# Of a difference, which is mostly small, the least scale of components that have no level of their own
# weighs so much more, and others so much less.
NEARLY_NOTHING, OWN_LEVEL = 11.0, 0.1
# Prior probability that public curves, all together, are of use.
PUBLIC = 0.1
NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class Part:
    """One component: curves `root` @ N(0, s I), seen through white noise of unit variance.

    functions: array (N, K). The root; or what the root is functions times `spread` of.
    seen: array (M, K). What is seen of the functions.
    values, vectors: array (M,), array (M, M). Eigenvalues and eigenvectors of `inside` @ `inside`'.
    spread: array (K,). Where several components share the functions: the deviations of this one.
    """

    kind: str
    functions: Floats
    seen: Floats
    values: Floats
    vectors: Floats
    spread: Floats | None = None

    @classmethod
    def of(cls, kind: str, functions: Floats, seen: Floats, spread: Floats | None = None) -> Part:
        """Factorise."""
        inside = seen if spread is None else seen * spread
        values, vectors = np.linalg.eigh(inside @ inside.T)
        return cls(kind, functions, seen, np.maximum(values, 0.0), vectors, spread)

    @property
    def root(self) -> Floats:
        """Root (N, K) of the covariance of curves."""
        return self.functions if self.spread is None else self.functions * self.spread

    @property
    def inside(self) -> Floats:
        """What is seen (M, K) of the root."""
        return self.seen if self.spread is None else self.seen * self.spread

    @cached_property
    def back(self) -> Floats:
        """Takes rotated observations to curves: (N, M). Worth its time for many releases alone."""
        return np.asarray(self.root @ (self.inside.T @ self.vectors))

    @cached_property
    def power(self) -> Floats:
        """Variances (S, M) of rotated observations at each scale."""
        return np.asarray(1 + SCALES[:, None] * self.values)

    @cached_property
    def gains(self) -> Floats:
        """What the mean takes (S, M) of rotated observations at each scale."""
        return np.asarray(SCALES[:, None] / self.power)

    @cached_property
    def logs(self) -> Floats:
        """Half the log determinant (S,) of `power`."""
        return np.asarray(0.5 * np.log(self.power).sum(axis=1))

    def left(self, weight: Floats) -> Floats:
        """What the mean leaves (M, M) of observations, under weights (S,) of the scales."""
        return np.asarray((self.vectors * (weight @ (1 / self.power[: weight.size]))) @ self.vectors.T)

    def loadings(self, rotated: Floats) -> Floats:
        """Loadings (K,) on the functions of the curve that `back` makes of observations (M,)."""
        loadings = (self.vectors @ rotated) @ self.seen
        return np.asarray(loadings if self.spread is None else loadings * self.spread**2)

    def fit(self, center: Floats, public: bool, measured: Floats, beside: Floats | float = 0.0) -> Fit:
        """The component given what was measured (M,), less what is seen of the centre.

        What else is known of its scales is log evidence (S,) `beside`.
        """
        count = SCALES.size if public or self.kind == "local" else KEPT
        rotated = measured @ self.vectors
        squares = (0.5 / self.power[:count]) @ rotated**2
        evidence = beside - self.logs[:count] - squares
        return Fit(self, center, public, rotated, SCALES[:count], evidence)


@dataclass(frozen=True, eq=False)
class Fit:
    """A component around one centre, given the release: log evidence (S,) of its scales."""

    part: Part
    center: Floats
    public: bool
    rotated: Floats
    scales: Floats
    evidence: Floats

    @property
    def power(self) -> Floats:
        """Variances (S, M) of rotated observations at each scale."""
        return self.part.power[: self.scales.size]

    def moved(self, measured: Floats) -> Fit:
        """The same evidence, and means given something else (M,), less what is seen of the centre."""
        rotated = measured @ self.part.vectors
        return Fit(self.part, self.center, self.public, rotated, self.scales, self.evidence)

    def kept(self, weight: Floats) -> Floats:
        """What is kept (M,) of the rotated observations under weights (S,) of the scales."""
        return np.asarray((weight @ self.part.gains[: self.scales.size]) * self.rotated)


def component_variances(functions: int) -> list[tuple[str, Floats]]:
    """Kinds and variances (K,) of the components that do not look at the release."""
    j = np.arange(1.0, functions + 1)
    return list(with_levels(lambda exponent, reach: (1 + (reach * j) ** 2) ** (-exponent / 2)))


def with_levels(falling: Callable[[float, float], Floats]) -> Iterator[tuple[str, Floats]]:
    """Kinds and variances (K,) of components of every exponent and range, each at every level.

    falling: How variances fall, from exponent and range; they are scaled to `MEAN_SQUARE`.
    """
    for exponent in (*SMOOTH, *ROUGH):
        kind = "smooth" if exponent in SMOOTH else f"rough{exponent:g}"
        for reach in RANGES:
            row = scaled(falling(exponent, reach))
            for level in LEVELS:
                free = row.copy()
                free[0] *= level
                yield kind, free


def log_weights_of_differences(count: int) -> Floats:
    """Log weights (P, S), beside those of their kinds, of so many components of a difference."""
    weights = np.ones((count, KEPT))
    weights[:: len(LEVELS), -1], weights[1 :: len(LEVELS)] = NEARLY_NOTHING, OWN_LEVEL
    return np.asarray(np.log(weights))


def scaled(row: Floats) -> Floats:
    """Variances of sum `MEAN_SQUARE`."""
    return np.asarray(row * (MEAN_SQUARE / row.sum()))


@lru_cache(maxsize=16)
def eigenfunctions(written: bytes) -> tuple[Floats, Floats]:
    """Functions (N, N) at times in [0, 1], orthonormal under weights (N,) of sum one; and weights."""
    times = np.frombuffer(written)
    edges = np.concatenate([[1.5 * times[0] - 0.5 * times[1]], (times[1:] + times[:-1]) / 2])
    weights = np.diff(np.append(edges, 1.5 * times[-1] - 0.5 * times[-2]))
    if np.ptp(weights) < 1e-6 * weights.mean():
        # Rounding of a grid's points must not undo what is equal.
        weights = np.ones_like(weights)
    weights = weights / weights.sum()
    distance = np.abs(times[:, None] - times)
    a, b = np.sqrt(5) * distance, np.sqrt(3) * distance
    kernel = 300 + (1 + a + a * a / 3) * np.exp(-a) + (1 + b) * np.exp(-b) + 0.01 * np.exp(-distance)
    root = np.sqrt(weights)
    vectors = np.linalg.eigh(root[:, None] * kernel * root)[1][:, ::-1] / root[:, None]
    functions = vectors * np.where(vectors[0] < 0, -1.0, 1.0)
    for array in (functions, weights):
        array.setflags(write=False)
    return functions, weights


def cycle_roots(times: Floats, periods: Sequence[float]) -> list[Floats]:
    """Roots (N, K) of cycles of known lengths on smooth curves: one for each share of the variance.

    times: array (N,). In [0, 1].
    periods: Lengths of the cycles. Harmonics of two points and more have variances like h^-2.
    """
    functions, weights = eigenfunctions(times.tobytes())
    count = min(BESIDE, times.size // 2)
    row = scaled((1 + (BESIDE_RANGE * np.arange(1.0, count + 1)) ** 2) ** -2.0)
    row[0] *= LEVELS[-1]
    smooth, waves = functions[:, :count] * np.sqrt(row), []
    finest = 2 * float(np.diff(times).mean())
    for period in periods:
        harmonics = np.arange(1, max(1, min(int(period / finest + 1e-9), count // len(periods))) + 1)
        angles = 2 * np.pi * times[:, None] * harmonics / period
        waves.append(np.hstack([np.cos(angles), np.sin(angles)]) / np.tile(harmonics, 2))
    cycle = np.hstack(waves)
    cycle *= np.sqrt(MEAN_SQUARE / float(weights @ np.sum(cycle**2, axis=1)))
    return [np.hstack([np.sqrt(1 - share) * smooth, np.sqrt(share) * cycle]) for share in CYCLES]


def weights_of(fits: list[Fit], prior: Mapping[str, float], public: float = PUBLIC) -> list[Floats]:
    """Posterior probability of each scale of each fit, under prior weights of the kinds."""
    return normalised(log_weights(fits, prior, public))[0]


def normalised(logs: list[Floats]) -> tuple[list[Floats], float]:
    """Weights of sum one from their logarithms, and the logarithm of what their sum was."""
    weights = np.concatenate(logs)
    top = float(weights.max())
    weights = np.exp(weights - top)
    total = float(weights.sum())
    weights /= total
    ends = accumulate(log.size for log in logs)
    return [weights[end - log.size : end] for log, end in zip(logs, ends, strict=True)], top + math.log(
        total
    )


def log_weights(fits: list[Fit], prior: Mapping[str, float], public: float) -> list[Floats]:
    """Log of prior weight times evidence, of each scale of each fit."""
    curves = {id(fit.center) for fit in fits if fit.public}
    share = public / (1 - public) / max(1, len(curves))
    logs = []
    for fit in fits:
        weight = prior.get(fit.part.kind, 0.0)
        weight *= share * KEPT / fit.scales.size if fit.public else 1.0
        logs.append(fit.evidence + (math.log(weight) if weight > 0 else -math.inf))
    return logs


def mixed_mean(fits: list[Fit], weights: list[Floats] | None = None) -> Floats:
    """Posterior mean (N,) over components and scales of these weights, by default those for the line."""
    mean = np.zeros_like(fits[0].center)
    # Loadings on functions that several components share are added up, by the functions.
    shared: dict[int, tuple[Floats, Floats]] = {}
    for fit, weight in zip(fits, weights or weights_of(fits, LINE), strict=True):
        total = float(weight.sum())
        if total > NEGLIGIBLE:
            mean += total * fit.center
            loadings, functions = fit.part.loadings(fit.kept(weight)), fit.part.functions
            before = shared.get(id(functions))
            shared[id(functions)] = functions, loadings if before is None else before[1] + loadings
    for functions, loadings in shared.values():
        mean += functions @ loadings
    return mean


def local_root(curve: Floats, times: Floats, resolution: int) -> Floats:
    """Root (N, N + 2) of the covariance of an integrated Wiener process bending where a curve does."""
    width = max(LOCAL_WIDTH, 1 / resolution)
    near = np.exp(-0.5 * (np.subtract.outer(times, times) / width) ** 2)
    bends = np.gradient(np.gradient(curve, times), times) if curve.size > 2 else np.zeros_like(curve)
    _, weights = eigenfunctions(times.tobytes())
    near *= weights
    power = near @ bends**2 / near.sum(axis=1)
    share = power / max(float(weights @ power), 1e-300) + LOCAL_FLOOR
    green, lines = _bends(times.tobytes())
    root = green * np.sqrt(share * weights)
    root *= np.sqrt(MEAN_SQUARE / float(weights @ np.sum(root**2, axis=1)))
    return np.hstack([root, LOCAL_LEVEL * lines[:, :1], LOCAL_SLOPE * lines[:, 1:]])


@lru_cache(maxsize=16)
def _bends(written: bytes) -> tuple[Floats, Floats]:
    """Green's functions (N, N) of the second derivative without their lines; and the lines (N, 2)."""
    times = np.frombuffer(written)
    lines = np.stack([np.ones(times.size), times - 0.5], axis=1)
    green = np.maximum(times[:, None] - times, 0.0)
    return frozen(green - lines @ np.linalg.lstsq(lines, green, rcond=None)[0]), frozen(lines)


def factorised(times: Floats, count: int, seen: Floats, ratio: float | None) -> tuple[Part, ...]:
    """Components on `count` functions at times (N,), of which `seen` (M, K) is seen.

    ratio: As `dpfda.estimates.curves.CurveModel.identity`.
    """
    functions = eigenfunctions(times.tobytes())[0][:, :count]
    parts, vectors = [], functions / np.sqrt(times.size)
    for kind, variances in component_variances(count):
        spread = np.sqrt(variances)
        if ratio is None:
            parts.append(Part.of(kind, functions, seen, spread))
        else:
            # Every point is seen with the same noise: the functions are the eigenvectors.
            values = ratio**2 * times.size * variances
            parts.append(Part(kind, functions, seen, values, vectors, spread))
    return tuple(parts)


shared_parts = remembered(8)(factorised)
