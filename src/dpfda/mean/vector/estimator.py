"""The mean of curves with several values (positions in space, sensors), as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Self, TypeGuard

import numpy as np

from dpfda.mean.estimator import PrivateMean
from dpfda.mean.settings import refuse_two_looks
from dpfda.mean.two_looks import single
from dpfda.mean.vector.plan import PooledVector, VectorPlan, publish_vector
from dpfda.mean.vector.release import ReleasedVector
from dpfda.mean.vector.together import equal_share
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import is_native, is_plain
from dpfda.numerics.errors import DataError, ParameterError
from dpfda.numerics.gridrules import SideBySide
from dpfda.numerics.gridsums import grid_sum
from dpfda.numerics.parameters import plain_words, shown, whole
from dpfda.publication import MeanPlan, Prepared
from dpfda.records.containers import shape_of
from dpfda.records.doors import door_of
from dpfda.records.frames import Container, is_dask
from dpfda.records.labels import read_keys
from dpfda.spine.arguments import (
    Bounds,
    Columns,
    Functions,
    Labels,
    Noise,
    Number,
    Payer,
    Place,
    Protected,
    Records,
)
from dpfda.spine.choices import check_choices, check_interval
from dpfda.spine.curves import POINTS
from dpfda.spine.estimator import Estimator, warn_of_labels
from dpfda.spine.settings import Reading
from dpfda.spine.sums import Answered

# That are planned, at most.
MOST_CHANNELS = 10_000


class PrivateVectorMean(Estimator):
    """Mean of curves with several values at every point, under one budget.

    Each channel is measured as `dpfda.PrivateMean` would measure it with an equal share of the budget.
    Where bounds are on values and the number of units is public, one draw of noise hides all channels,
    which is less noise than shares of an epsilon have: in one box, or with a delta also one Gaussian.
    Under rho shares of Gaussian noise are one Gaussian.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`, for all channels together.
    bounds : list of d bounds, or one for all
        Public bound of each channel, as in `dpfda.PrivateMean`: pairs (lower, upper) in its units.
    channels : sequence of str, optional
        Public names of the channels; by default those of the container, else "1", "2", ...
    basis, mechanism, domain, unit, reading, ledger
        As in `dpfda.PrivateMean`, the same for all channels.

    Attributes
    ----------
    release_ : ReleasedVector
        The published function with d values.
    n_features_in_ : int
        Number of grid points.

    Notes
    -----
    **Guarantee.** What is asked for, for data sets that differ in one unit: all channels of its records.
    In one box, by the K-norm law of the box in which all measured integers move together, whose loss is
    the largest of the channels' and not their sum; in one Gaussian, by the exact profile at the length
    by which one unit moves all of them: `dpfda.mean.vector.together` has the proofs. With shares each
    channel's release is one for that relation with its share of the budget, by the proof of
    `dpfda.PrivateMean`, and shares add up by basic composition.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 1, 20)
    >>> paths = np.stack([np.sin(t), np.cos(t)], axis=-1) + np.linspace(-0.2, 0.2, 60)[:, None, None]
    >>> mean = PrivateVectorMean(2.0, bounds=[(-1.5, 1.5), (0, 1.5)], channels=["x", "y"]).fit(paths)
    >>> mean.release_([0.25, 0.5]).shape
    (2, 2)
    """

    release_: ReleasedVector

    _embeds = True

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        bounds: Bounds = None,
        channels: Sequence[str] | None = None,
        basis: Functions = None,
        mechanism: Noise = "auto",
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(self, X: Records, y: Labels = None, groups: Labels = None) -> Self:
        """Release the mean of the curves.

        Parameters
        ----------
        X : array (n, m, d), also of Dask, DataArray, functional data with d values, or mapping
            One curve a row, in the units of the data. A mapping has a container (n, m) of any kind a
            channel, by name, with the same rows in the same order. Private.
        y : None
            Not read; where there are no `groups` a warning says so.
        groups : array (n,), optional
            Privacy unit of each record, for example the person. Private.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable. Nothing was charged and no noise was drawn.
        DataError
            If the data cannot be used as they are, or channels have other rows.
        BudgetError
            If the ledger refuses.
        """
        warn_of_labels(y, groups)
        prepared = self.prepare(X, groups)
        self.release_ = publish_vector(prepared, self._paying())
        self.n_features_in_ = int(prepared.plan.one.basis.weights.size)
        return self

    def plan(
        self, n: int, columns: Columns = POINTS, channels: int | Sequence[str] | None = None
    ) -> VectorPlan:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n, columns
            As in `PrivateMean.plan`; the grid is the same for all channels.
        channels : int or sequence of str, optional
            Number of channels, or their names. By default the `channels` of the estimator, else as many
            as it has bounds.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`, or nothing says how many channels there are.

        Examples
        --------
        >>> plan = PrivateVectorMean(1.0, bounds=(0, 1)).plan(n=500, columns=48, channels=2)
        >>> plan.errors["1"] < plan.error
        True
        >>> plan.at(n=plan.least_n(error=0.01)).error <= 0.01
        True
        """
        return self._lines_alone(n, columns, channels).measuring

    def _lines_alone(
        self, n: int, columns: Columns, channels: int | Sequence[str] | None = None
    ) -> VectorPlan:
        names = self._planned_channels(channels)
        plans = [single(mean.plan(n, columns)) for mean in self._means(len(names))]
        shares = {name: plan.line_alone for name, plan in zip(names, plans, strict=True)}
        _check_domain(shares)
        return VectorPlan(shares, self.asked())

    def pooled(self, n: int, columns: Columns = POINTS) -> PooledVector:
        """The sum as several holders make it, of a stated number of channels; see `PooledSum`."""
        return PooledVector(self.settings, self._lines_alone(n, columns), self._parts)

    def _parts(self, X: Records) -> list[Records]:
        return [*_channels(X, self._planned_channels(None)).values()]

    def prepare(
        self, X: Records, groups: Labels = None
    ) -> Prepared[VectorPlan, Mapping[str, IntegerSum]]:
        """Everything before the noise: check, embed, clip, round, add up. The sums are private.

        Parameters
        ----------
        X, groups
            As in `fit`.
        """
        parts = _channels(X, self.channels)
        means = self._means(len(parts))
        if groups is not None and not isinstance(groups, str):
            # Read once: it may be a stream.
            groups = read_keys(groups, "groups", self.settings.reading.invalid)
        answers = summed_together(means, X) if groups is None else None
        if answers is None:
            channels = zip(means, parts.values(), strict=True)
            answers = [mean._answering(Container.of(values, groups)) for mean, values in channels]
        shares = {name: answer.plan for name, answer in zip(parts, answers, strict=True)}
        _check_same({share.size for share in shares.values()})
        _check_domain(shares)
        plan = VectorPlan(shares, self.asked()).measuring
        pairs = zip(plan.parts.items(), answers, strict=True)
        return Prepared(plan, {name: answer.total.total(part) for (name, part), answer in pairs})

    def _means(self, count: int) -> list[PrivateMean]:
        """The mean of each channel, with its share of the budget."""
        reading = self.settings.reading
        refuse_two_looks(self.mechanism, "several channels")
        if reading.missing == "pooled":
            words = "be 'refuse' or 'complete' for several channels"
            raise ParameterError("missing", words, repr(reading.missing))
        share = equal_share(check_choices(self), count)
        budget = {key: value for key, value in vars(share).items() if key in ("epsilon", "delta", "rho")}
        return [
            PrivateMean(
                **budget, bounds=bound, basis=self.basis, mechanism=self.mechanism,
                domain=self.domain, unit=self.unit, reading=reading,
            )
            for bound in _bounds(self.bounds, count)
        ]  # fmt: skip

    def _planned_channels(self, channels: int | Sequence[str] | None) -> list[str]:
        """Names of the channels that are planned, by what was stated of them."""
        stated: object = self.channels if channels is None else channels
        if stated is None and _is_several(self.bounds):
            stated = len(self.bounds)
        if stated is None:
            words = "be given where neither names nor bounds say how many there are"
            raise ParameterError("channels", words, "None", "Plan for a number: plan(n, channels=3).")
        if not _is_listed(stated):
            count = whole(stated, "channels", 1, MOST_CHANNELS)
            return _named(self.channels, [str(i + 1) for i in range(count)])
        names = _named(stated, list(stated))
        if self.channels is not None and names != list(self.channels):
            raise ParameterError("channels", f"be those stated, {shown(self.channels)}", shown(names))
        return names


def _channels(X: object, names: Sequence[str] | None) -> dict[str, Any]:
    """Each channel's curves by its public name."""
    door = door_of(X)
    parted = None if door is None else door.channels(X)
    if isinstance(X, Mapping):
        parted = list(X.items())
    elif (isinstance(X, np.ndarray) or is_dask(X)) and getattr(X, "ndim", 2) == 3:
        parted = [(str(i + 1), X[:, :, i]) for i in range(X.shape[2])]
    if parted is None:
        raise DataError(
            "X must be an array (curves, points, channels), functional data with several values, or a "
            "mapping from names of channels to curves; found something else."
        )
    known, parts = [str(name) for name, _ in parted], [part for _, part in parted]
    labels = _named(names, known)
    # Of Dask's blocks the rows are not counted here: that would bring them into memory.
    _check_same({shape_of(part)[:1] for part in parts if not is_dask(part)})
    return dict(zip(labels, parts, strict=True))


def _named(names: object, known: list[str]) -> list[str]:
    """Stated names of so many channels, or those found."""
    labels = known if names is None else list(names) if _is_listed(names) else []
    worded = all(isinstance(label, str) and label for label in labels)
    if not (worded and len(labels) == len(known) == len(set(labels)) and labels):
        raise ParameterError("channels", f"be {len(known)} different names", shown(names))
    return [plain_words(label, "channels") for label in labels]


def _is_listed(names: object) -> TypeGuard[Sequence[str]]:
    return isinstance(names, list | tuple) or (isinstance(names, np.ndarray) and names.ndim == 1)


def _check_same(rows: AbstractSet[object]) -> None:
    if len(rows) > 1:
        raise DataError("X must have the same records in every channel; found other numbers of rows.")


def _check_domain(shares: Mapping[str, MeanPlan]) -> None:
    """Refuse what is no function on one interval while nothing was charged."""
    for share in shares.values():
        check_interval(share.basis, "several values", "Release a PrivateMean of each value.")
    ends = {share.basis.domain_range for share in shares.values()}
    if len(ends) > 1:
        remedy = "State the domain, or the grid, of all channels."
        raise ParameterError("channels", "be on one domain", f"{len(ends)} domains", remedy)


def _bounds(bounds: Bounds, count: int) -> list[Bounds]:
    if isinstance(bounds, Mapping):
        words = "be a list, one a channel in the order of the channels, or one for all"
        raise ParameterError("bounds", words, "a mapping")
    if not _is_several(bounds):
        return [bounds] * count
    if len(bounds) != count:
        raise ParameterError("bounds", f"be one a channel ({count}), or one for all", f"{len(bounds)}")
    return list(bounds)


def _is_several(bounds: object) -> TypeGuard[Sequence[Bounds]]:
    """Whether there is a bound for each channel."""
    return isinstance(bounds, list | tuple) and any(not np.isscalar(bound) for bound in bounds)


def summed_together(means: Sequence[PrivateMean], X: object) -> list[Answered] | None:
    """What `PrivateMean._answering` makes of each channel of an array (n, m, d), by reading it once.

    Each value goes through the same operations as if its channel were read by itself, and integers are
    added up exactly, so the sums are the same.

    means: One a channel.
    X: array (n, m, d). Private.
    Returns None where each channel must be read by itself: where the values do not lie side by side, a
        channel is not bounded value by value, or some value is not finite.
    """
    if any(mean.settings.reading.missing != "refuse" for mean in means):
        return None
    if not (is_plain(X) and X.ndim == 3 and is_native(X.dtype) and X.flags.c_contiguous):
        return None
    with np.errstate(all="ignore"):
        opened = [mean._summation_for(X[:, :, place]) for place, mean in enumerate(means)]
        rules = [summation.clipping for summation in opened]
        if not all(rules):
            return None
        rule = SideBySide([rule_of_channel for rule_of_channel in rules if rule_of_channel])
        totals, unusable = grid_sum(X.reshape(len(X), -1), rule)
        if unusable:
            return None
        answers = list[Answered]()
        for place, summation in enumerate(opened):
            total = summation.empty().add_totals(totals[place :: len(means)], len(X))
            answers.append(summation.summed(total))
    return answers
