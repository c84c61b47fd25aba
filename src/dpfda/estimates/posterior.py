"""Posterior of a mean given its noisy release, under a public prior with unknown shape and scale.

The release tells z = F c + noise. Given a shape b and a scale s, c_j ~ N(0, s b_j); given the factors
T of the noise (`dpfda.noise.mixtures`) everything is normal, and shape, scale and factors are
summed over. The input is the noisy release, the public law of its noise and a public prior: nothing
here costs privacy, and nothing is drawn that a release depends on.

For forms F = I a coefficient is treated by itself given b, s and T. For other forms, with D the diagonal
matrix of the noise deviations and B that of the shape, D^-1 F B F' D^-1 = U L U' turns the forms into
independent ones with variances s L + T.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.bases.priors import Hierarchy
from dpfda.noise.mixtures import Block, NoiseMixture
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError

# Numbers held at a time when many releases are treated together.
LARGEST = 2**22


@dataclass(frozen=True, eq=False)
class _Shape:
    """One shape, rotated so that forms are independent.

    `variances` (M,) are those of z / d after `rotation` (M, M), per unit of scale; `back` (K, M) takes
    weighted rotated forms to coefficients. None stands for identities.
    """

    shape: Floats
    variances: Floats
    rotation: Floats | None
    back: Floats | None


@dataclass(frozen=True, eq=False)
class Posterior:
    """The law of a mean's coefficients given a noisy release.

    Parameters
    ----------
    hierarchy : Hierarchy
        Public prior and what was measured.
    noise : NoiseMixture
        Public law of the noise, in the units of what was measured.

    Raises
    ------
    ParameterError
        If prior and noise differ in size, or forms come with noise of several blocks.

    Examples
    --------
    >>> from dpfda.noise import GaussianNoise
    >>> from dpfda.bases.priors import Prior
    >>> noise = GaussianNoise((1, 1)).mixture()
    >>> posterior = Posterior(Hierarchy(Prior.of([[3.0, 1.0]])), noise)
    >>> posterior.means(np.array([[4.0, 4.0]])).round(6).tolist()
    [[3.0, 2.0]]
    """

    hierarchy: Hierarchy
    noise: NoiseMixture

    def __post_init__(self) -> None:
        if self.noise.deviations.size != self.hierarchy.measured:
            raise ParameterError(
                "noise", f"have {self.hierarchy.measured} coordinates", f"{self.noise.deviations.size}"
            )
        if self.hierarchy.forms is not None and len(self.noise.blocks) > 1:
            raise ParameterError("noise", "be one block where forms are measured", "several")

    @cached_property
    def _shapes(self) -> tuple[_Shape, ...]:
        deviations, forms = self.noise.deviations, self.hierarchy.forms
        shapes = []
        for shape in self.hierarchy.prior.shapes:
            if forms is None:
                shapes.append(_Shape(shape, shape / deviations**2, None, None))
                continue
            scaled = forms / deviations[:, None]
            values, vectors = np.linalg.eigh(scaled * shape @ scaled.T)
            shapes.append(_Shape(shape, np.maximum(values, 0.0), vectors, (scaled * shape).T @ vectors))
        return tuple(shapes)

    def means(self, released: Floats) -> Floats:
        """Posterior means (n, K) given noisy releases (n, M): the least expected squared error."""
        prior = self.hierarchy.prior
        nodes = max(block.factors.size for block in self.noise.blocks)
        numbers = prior.weights.size * (nodes + prior.components) + self.hierarchy.measured
        step = max(1, LARGEST // numbers)
        parts = [self._means(released[i : i + step]) for i in range(0, len(released), step)]
        return np.concatenate(parts) if parts else np.empty((0, prior.components))

    def _means(self, released: Floats) -> Floats:
        fits = [self._fit(released, shape) for shape in self._shapes]
        chances = self._chances([evidence for evidence, _, _ in fits])
        total = np.zeros((len(released), self.hierarchy.prior.components))
        for chance, (_, gains, forms), shape in zip(chances, fits, self._shapes, strict=True):
            weighted = np.einsum("ns,snm->nm", chance, gains) * forms
            # Rotated and scaled: z / d weighted by L / (s L + T), s folded in.
            if shape.back is None:
                total += weighted * self.noise.deviations
            else:
                total += weighted @ shape.back.T
        return total

    def _chances(self, evidences: list[Floats]) -> Floats:
        """Posterior probabilities (G, n, S) of shapes and scales."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.hierarchy.prior.weights)[:, None, :] + np.array(evidences)
        return np.asarray(np.exp(logs - _log_sum(logs, (0, 2))))

    def _rotated(self, released: Floats, shape: _Shape) -> Floats:
        scaled = released / self.noise.deviations
        return scaled if shape.rotation is None else np.asarray(scaled @ shape.rotation)

    def _fit(self, released: Floats, shape: _Shape) -> tuple[Floats, Floats, Floats]:
        """Log evidence (n, S) of scales, shares (S, n, M) that means have of forms, and these (n, M)."""
        scales, forms = self.hierarchy.prior.scales, self._rotated(released, shape)
        evidence = np.zeros((len(released), scales.size))
        gains = np.empty((scales.size, *forms.shape))
        for block in self.noise.blocks:
            inside = slice(block.start, block.stop)
            parts, likelihoods = self._likelihoods(forms[:, inside], shape.variances[inside], block)
            highest = likelihoods.max(axis=2, keepdims=True)
            # In place: of many releases these are large.
            shares = np.exp(np.subtract(likelihoods, highest, out=likelihoods), out=likelihoods)
            totals = shares.sum(axis=2, keepdims=True)
            evidence += (highest + np.log(totals))[:, :, 0]
            shares /= totals
            # Of each factor: s L / (s L + T) on the coefficients, s / (s L + T) before `back`.
            top = scales[:, None] * (shape.variances[inside] if shape.back is None else 1.0)
            factors = np.broadcast_to(top[:, None, :], parts.shape) / parts
            gains[:, :, inside] = np.matmul(shares.transpose(1, 0, 2), factors)
        return evidence, gains, forms

    def _likelihoods(self, forms: Floats, variances: Floats, block: Block) -> tuple[Floats, Floats]:
        """Variances (S, Q, m) of the forms, and log weights (n, S, Q) of scale and factor."""
        factors, logs = block.factors, block.logs
        parts = self.hierarchy.prior.scales[:, None, None] * variances + factors[None, :, None]
        count = parts.shape[0] * parts.shape[1]
        likelihoods = (forms**2 @ (-0.5 / parts).reshape(count, -1).T).reshape(-1, *parts.shape[:2])
        likelihoods += logs - np.log(parts).sum(axis=2) / 2
        return parts, likelihoods

    def draws(self, released: Floats, generator: np.random.Generator, draws: int) -> Floats:
        """Coefficients (draws, K) from the posterior given one noisy release (M,): for bands.

        A shape, a scale and factors are drawn from their posterior; given them, an unconditional draw of
        coefficients and noise is corrected by what it misses of the release (Matheron's rule).
        """
        prior, row_of_release = self.hierarchy.prior, released[None, :]
        chances = self._chances([self._fit(row_of_release, shape)[0] for shape in self._shapes])[:, 0, :]
        rows = generator.choice(chances.size, size=draws, p=chances.ravel() / chances.sum())
        coefficients = np.empty((draws, prior.components))
        for row in np.unique(rows):
            shape, scale = self._shapes[row // prior.scales.size], row % prior.scales.size
            chosen = rows == row
            coefficients[chosen] = self._given(released, shape, int(scale), generator, int(chosen.sum()))
        return coefficients

    def _given(
        self, released: Floats, shape: _Shape, scale: int, generator: np.random.Generator, draws: int
    ) -> Floats:
        """Draws (draws, K) given a shape and a scale."""
        prior, deviations = self.hierarchy.prior, self.noise.deviations
        forms = self._rotated(released[None, :], shape)
        factors = np.empty((draws, deviations.size))
        for block in self.noise.blocks:
            inside = slice(block.start, block.stop)
            _, logs = self._likelihoods(forms[:, inside], shape.variances[inside], block)
            chances = np.exp(logs[0, scale] - _log_sum(logs[0, scale], 0))
            nodes = generator.choice(chances.size, size=draws, p=chances / chances.sum())
            factors[:, inside] = block.factors[nodes][:, None]
        size = float(prior.scales[scale])
        means = generator.standard_normal((draws, prior.components)) * np.sqrt(size * shape.shape)
        noise = generator.standard_normal(factors.shape) * np.sqrt(factors) * deviations
        seen = means if self.hierarchy.forms is None else means @ self.hierarchy.forms.T
        missed = self._rotated(released - seen - noise, shape)
        gain = missed * size / (size * shape.variances + factors)
        if shape.back is None:
            return np.asarray(means + gain * shape.variances * deviations)
        return np.asarray(means + gain @ shape.back.T)


def _log_sum(logs: Floats, axis: int | tuple[int, ...]) -> Floats:
    """Logarithm of a sum of exponentials, with its axes kept."""
    top = np.max(logs, axis=axis, keepdims=True)
    return np.asarray(top + np.log(np.sum(np.exp(logs - top), axis=axis, keepdims=True)))
