"""Tuning that costs no budget: rules from public numbers, and cross-validation on public data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dpfda.mean.estimator import PrivateMean
from dpfda.numerics.arrays import Cells, Floats, Integers, doubles
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, flag, length, real, shown, whole
from dpfda.privacy.guarantees import budget
from dpfda.records.containers import matrix_of
from dpfda.records.labels import unit_codes
from dpfda.spine.curves import unit_curves


@dataclass(frozen=True)
class PlugIn:
    """Tuning of a smoothed mean.

    Parameters
    ----------
    eta : float
        Exponent of the penalised space.
    penalty : float
        Penalty, for eigenvalues scaled to sum one.
    """

    eta: float
    penalty: float


def matern_decay(smoothness: float, dimension: int = 1) -> float:
    """Exponent a of lambda_j ~ j^-a for a Matern kernel: (2 alpha + d) / d.

    Parameters
    ----------
    smoothness : float
        Smoothness alpha of the kernel (1.5 for Matern 3/2), positive; infinity for the Gaussian kernel.
    dimension : int
        Dimension d of the domain.

    Raises
    ------
    ParameterError
        If either is not positive.

    Examples
    --------
    >>> matern_decay(1.5)
    4.0
    """
    alpha = real(smoothness, "smoothness", -math.inf, math.inf, "be positive")
    if not alpha > 0:
        raise ParameterError("smoothness", "be positive", shown(smoothness))
    axes = _positive(dimension, "dimension")
    return (2 * alpha + axes) / axes


def plug_in(
    size: int,
    epsilon: object,
    *,
    decay: float,
    radius: float = 1.0,
    norm: Literal["l1", "l2"] = "l2",
    estimate: Literal["rkhs", "l1"] = "rkhs",
) -> PlugIn:
    """Exponent and penalty for which the privacy noise costs no more than the sampling error's order.

    With t = radius^2 / (n epsilon^2) and lambda_j ~ j^-a:

    ========  ========  =========  =================
    estimate  norm      eta        penalty
    ========  ========  =========  =================
    rkhs      l1 ball   1 + 1/a    t^eta
    rkhs      l2 ball   1 + 1/a    t
    l1        either    2 + 2/a    2 radius t
    ========  ========  =========  =================

    Parameters
    ----------
    size : int
        Number n of privacy units. Public.
    epsilon : number or text
        Privacy loss; for rho-zero-concentrated privacy the root of 2 rho.
    decay : float
        Exponent a above 1 of the kernel's eigenvalues; see `matern_decay` and `KernelBasis.decay`.
    radius : float
        Public bound on a record in `norm`, in units in which the kernel's eigenvalues sum to one. The
        mechanisms scale records to a bound of one: keep 1 for their `penalty`.
    norm : {"l1", "l2"}
        Of the bound, on the coefficients.
    estimate : {"rkhs", "l1"}
        Factors lambda^eta / (lambda^eta + penalty), or soft thresholds penalty / (2 lambda^(eta/2)).

    Returns
    -------
    PlugIn

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Notes
    -----
    Nothing is read from data, so the rule costs no privacy.

    Lin & Reimherr (2023), Theorem 13, with its slips corrected. The theorem is stated for an l2 bound,
    but its proof uses the l1 sensitivity: on the l2 ball the penalty of the l1 ball lets n times the
    noise grow like n^(1/4) for Matern 3/2. For the l1 estimate it prints penalty = radius / n and
    2 + 4/a, which belong to a sensitivity with the exponent eta/2 in the place of 1/2.

    Examples
    --------
    >>> plug_in(400, 0.5, decay=matern_decay(1.5))
    PlugIn(eta=1.25, penalty=0.01)
    """
    signal = _positive(size, "size") * float(budget(epsilon).epsilon) ** 2
    words = "exceed 1, so that the eigenvalues have a sum"
    stated, decay = decay, real(decay, "decay", -math.inf, math.inf, words)
    if not decay > 1:
        raise ParameterError(
            "decay", words, shown(stated), "A Matern kernel has matern_decay(smoothness, dimension)."
        )
    radius = length(radius, "radius")
    choice(norm, "norm", ("l1", "l2"))
    choice(estimate, "estimate", ("rkhs", "l1"))
    level = float(radius) ** 2 / signal
    if estimate == "rkhs":
        eta = 1 + 1 / float(decay)
        return PlugIn(eta, level**eta if norm == "l1" else level)
    return PlugIn(2 + 2 / float(decay), 2 * float(radius) * level)


def _positive(value: object, name: str) -> int:
    return whole(value, name, words="be a positive integer")


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores of candidates on public data.

    Parameters
    ----------
    candidates : tuple of PrivateMean
        As given.
    scores : array (candidates, folds)
        Mean squared L2 distance to the curves left out, in squared units of the data times the domain's:
        the smaller the better.
    private : bool
        Whether the expected privacy noise is in the scores.
    """

    candidates: tuple[PrivateMean, ...]
    scores: Floats
    private: bool

    @property
    def means(self) -> Floats:
        """Average score (candidates,) over the folds."""
        return np.asarray(self.scores.mean(axis=1))

    @property
    def index(self) -> int:
        """The candidate with the least average score, the first of equals."""
        return int(np.argmin(self.means))

    @property
    def best(self) -> PrivateMean:
        """That candidate: its mechanism holds the chosen eta and penalty."""
        return self.candidates[self.index]


def cross_validate(
    curves: ArrayLike,
    candidates: Sequence[PrivateMean],
    *,
    data_are_public: bool = False,
    private: bool = True,
    folds: int = 10,
    groups: ArrayLike | None = None,
    seed: int = 0,
) -> CrossValidation:
    """Compare tunings of a mean by (private) cross-validation. NOT PRIVATE: for public data alone.

    Parameters
    ----------
    curves : array (n, m)
        One public curve a row; NaN marks a missing value, where the candidates allow it.
    candidates : sequence of PrivateMean
        Estimators to compare, for example with mechanisms of several penalties; their mechanisms are
        named. They are not fitted and no ledger is charged.
    data_are_public : bool
        Must be True: the user's word that these curves need no protection.
    private : bool
        Private cross-validation: the distance is that of the release, its noise included. False is
        ordinary cross-validation, of the estimate without noise.
    folds : int
        Number of parts, at least two.
    groups : array (n,), optional
        Privacy unit of each curve; a unit's curves stay in one part.
    seed : int
        Of the split into parts. No noise is drawn.

    Returns
    -------
    CrossValidation

    Raises
    ------
    ParameterError
        Without the declaration, or for unusable candidates or folds.
    DataError
        If the curves are no matrix, or unusable.

    Notes
    -----
    The parameter chosen is a function of the data, and so is the scale of the noise that is then set
    with it: on private data there is no finite epsilon for it. Use `plug_in`, a public data set like the
    private one, or `private_selection`.

    Mirshani, Reimherr & Slavkovic (2019), section 6. The papers take the average of simulated distances;
    here the distance is squared and its expectation over the noise is exact, from the variances of the
    design. A candidate is designed for the size of the remaining curves, as theirs is. The distance to
    the mean of the part left out, which they take for private cross-validation, is less by the same
    amount for every candidate on one grid.

    Examples
    --------
    >>> from dpfda.mechanisms.iclp import ICLP
    >>> public = np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.2, 0.2, 100)[:, None]
    >>> candidates = [
    ...     PrivateMean(1.0, bounds=(-1.5, 1.5), mechanism=ICLP(eta=1.25, penalty=penalty))
    ...     for penalty in (1e-4, 1e-2, 1.0)
    ... ]
    >>> found = cross_validate(public, candidates, data_are_public=True)
    >>> found.scores.shape
    (3, 10)
    """
    if data_are_public is not True:
        raise ParameterError(
            "data_are_public",
            "be True, because cross-validation reads the curves and what it chooses is not private",
            repr(data_are_public),
            "Declare it for public curves alone. For private ones use plug_in, which reads public"
            " numbers, or private_selection, which charges the budget for the choice.",
        )
    _check(candidates, folds)
    flag(private, "private")
    whole(seed, "seed", 0, 2**32 - 1)
    values = doubles(matrix_of(curves, name="curves"))
    labels = None if groups is None else unit_codes(groups, len(values))
    splits = list(_splits(values, labels, folds, seed))
    scores = [
        [_score(candidate, values, labels, rest, left, private) for rest, left in splits]
        for candidate in candidates
    ]
    return CrossValidation(tuple(candidates), np.array(scores), private)


def _check(candidates: Sequence[PrivateMean], folds: int) -> None:
    several = isinstance(candidates, list | tuple) and len(candidates) > 0
    if not several or not all(isinstance(candidate, PrivateMean) for candidate in candidates):
        raise ParameterError("candidates", "be PrivateMean estimators, at least one", "others")
    whole(folds, "folds", 2, words="be an integer of at least 2")


def _splits(values: Floats, labels: Cells | None, folds: int, seed: int) -> Iterator[Sequence[Integers]]:
    units_ = values.shape[0] if labels is None else np.unique(labels).size
    if units_ < 2 * folds:
        raise ParameterError("folds", "leave at least two units in each part", f"{folds} of {units_}")
    from sklearn.model_selection import GroupKFold, KFold

    if labels is None:
        yield from KFold(folds, shuffle=True, random_state=seed).split(values)
    else:
        yield from GroupKFold(folds, shuffle=True, random_state=seed).split(values, groups=labels)


def _score(
    candidate: PrivateMean,
    values: Floats,
    labels: Cells | None,
    rest: Integers,
    left: Integers,
    private: bool,
) -> float:
    """Expected squared distance of one release of the rest to the curves left out."""
    units = None if labels is None else labels[rest]
    prepared = candidate.prepare(values[rest], units)
    plan = prepared.plan
    design = plan.public_design
    if design is None or plan.size is None:
        raise ParameterError("public_size", "be given in candidates with add-remove neighbours", "None")
    if design.hierarchy is not None:
        words = "name their mechanisms"
        remedy = "Cross-validation is for a penalty or the like; 'auto' is tuned from public numbers."
        raise ParameterError("candidates", words, f"{candidate.mechanism!r}", remedy)
    basis = plan.basis
    functions = basis.evaluate(basis.grid_points)[:, : design.functions]
    size = plan.size
    unit = math.ldexp(1.0, -design.exponent(plan.problem(size))) / size
    # No noise: these curves are public.
    exact = prepared.total.with_noise([0] * design.components, design.thresholds)
    means = np.array([float(value) for value in exact]) * unit
    curve = plan.bound.center_on(basis.grid_points) + functions @ design.coefficients(means)
    # As the candidate reads them, without clipping; one a unit.
    groups = None if labels is None else labels[left]
    targets, _ = unit_curves(candidate.settings, basis, values[left], groups)
    distance = float(np.mean((curve - targets.values[targets.usable]) ** 2 @ basis.weights))
    if not private:
        return distance
    # What one unit of noise on each component does to the curve.
    moves = design.coefficients(np.eye(design.components)) @ functions.T * unit
    return distance + float(design.noise.variances() @ (moves**2 @ basis.weights))
