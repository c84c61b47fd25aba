"""The mean curve of many records, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from dpfda.bases import Basis, KernelBasis
from dpfda.bases.centred import CentredBasis
from dpfda.bases.grids import check_domain, check_grid, equally_spaced
from dpfda.bases.kernels import default_kernel, parse_kernel
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import read_bounds
from dpfda.errors import DataError, ParameterError
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.budgets import budget
from dpfda.privacy.guarantees import Neighbours
from dpfda.publication import Request, publish
from dpfda.publication.session import FunctionalSession
from dpfda.records import (
    LongCurves,
    curves_from_array,
    curves_from_long,
    standardized,
    units,
)
from dpfda.records.containers import refuse_kinds, shape_of
from dpfda.records.dask_arrays import is_dask
from dpfda.records.frames import Handed, curves_handed, names_of
from dpfda.records.labels import unit_codes
from dpfda.summaries.choices import check_choices
from dpfda.summaries.labels import read_labels
from dpfda.summaries.public_curves import read_public_curves
from dpfda.summaries.streams import MeanStream, add_all
from dpfda.summaries.sums import Summation, matrix_on

Floats = NDArray[np.float64]

LONG_GRID = 101


@dataclass(frozen=True, eq=False, repr=False)
class PreparedMean:
    """A request and the private sum that answers it, before anything is charged or drawn."""

    request: Request
    total: IntegerSum


class PrivateMean(BaseEstimator):  # type: ignore[misc]
    """Mean curve under differential privacy.

    Each record (or, with `groups`, the average of each person's records) is clipped to a public bound
    and rounded to integers, on the grid or as coefficients in a public basis. The integers are added up
    exactly, and exact noise is added to the sum of the coefficients, or of values over cells of the
    grid. What is released is a function on the whole domain.

    Parameters
    ----------
    epsilon : float
        Privacy loss, positive.
    delta : float
        Failure mass; 0 means pure differential privacy.
    bounds : (lower, upper), ValueBounds, L2Ball, L1Ball, BoxBound or Ellipsoid
        Public bound on a record, in the units of the data, enforced by clipping. No default: it must
        come from knowledge of the measurement, never from these data.
    standardize : bool
        Take each curve minus its own mean, over its own L2 norm. The l2 bound 1 then holds by
        construction and is the default.
    kernel : scikit-learn kernel, callable k(s, t), or text such as "matern:10%:1.5"
        Public covariance kernel whose eigenfunctions are the basis, in units of the domain; by default
        a sum of Matern kernels that stands for the public mixture of shapes and scales
        (`dpfda.mechanisms.design`).
        A kernel given here says how rough the mean may be. With `standardize`, functions are centred.
    basis : Basis, optional
        A basis made beforehand, instead of kernel, grid, domain and quadrature.
    grid_points : array (m,), optional
        Public grid. By default the numeric column labels of the data, else equally spaced points.
    domain_range : (float, float), optional
        Ends of the domain; by default those of the grid, or (0, 1) without one.
    quadrature : {"trapezoid", "uniform"} or array (m,)
        Weights of the grid points in integrals.
    mechanism : "auto", name or mechanism object
        "auto" is the one with the least expected error; see `dpfda.mechanisms`.
    neighbours : {"replace-one", "add-remove"}
        Replace one unit, their number being public; or add or remove one, their number being private.
    public_size : int, optional
        Under add/remove only: a public number to divide the sum by. Without it a tenth of epsilon is
        spent on releasing the count; by default the sums over cells then get noise in one with it.
    missing : {"refuse", "complete"}
        Raise on missing values, or interpolate within the record.
    invalid : {"refuse", "repair"}
        Raise on unusable records (outside the guarantee: an error tells something), or replace each by
        a fixed public element (the bound's center).
    prior : array (m,) or (C, m), callable, release, or a list of them
        Public curves that the mean may be near to: last year's mean, another hospital's release, a
        function. For the default with bounds on values. Where one is near the error falls by up to half,
        where all are far it grows by a few hundredths. Never made from these data.
    smoothing : float
        For irregular curves: public noise variance relative to that of the curves.
    unit : str, optional
        What to call the privacy unit in the release; "record" or "group" by default.
    labels : mapping, optional
        Public words for the release and its plots: "domain" and "value", with units.
    ledger : Ledger, optional
        Charged before noise is drawn.
    dataset : str, optional
        Name of the data set in the ledger.

    Attributes
    ----------
    release_ : ReleasedFunction
        The published mean curve.
    n_features_in_ : int
        Number of grid points.
    feature_names_in_ : array of str
        Column labels, where X is a data frame whose labels are all text. Public, like the grid.

    Notes
    -----
    **Guarantee.** Pure epsilon (delta = 0) or (epsilon, delta), for neighbouring data sets as stated by
    `neighbours`, one unit being one record, or one label of `groups`. The integers that get noise move
    between them by a vector of the set 2C (replace) or C (add/remove), C a ball, box or ellipsoid of
    integers that holds what one unit adds: by a proof for bounds enforced on the grid
    (`dpfda.bounds.on_grid`), else because each clipped row is verified. The noise is calibrated to
    exactly that; see `dpfda.noise` for the law's loss. Everything after the noisy integers is
    post-processing.

    Parameters are public. `X` and `groups` are private.

    References
    ----------
    Lin & Reimherr (2023), section 4.2; Mirshani, Reimherr & Slavkovic (2019), section 4.

    Examples
    --------
    >>> import numpy as np
    >>> curves = np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.2, 0.2, 50)[:, None]
    >>> mean = PrivateMean(epsilon=1.0, bounds=(-1.5, 1.5), domain_range=(0, 3)).fit(curves)
    >>> mean.release_([0.5, 1.5]).shape
    (2,)
    """

    def __init__(
        self,
        epsilon: float | Fraction,
        delta: float | Fraction = 0.0,
        *,
        bounds: Any = None,
        standardize: bool = False,
        kernel: Any = None,
        basis: Basis | None = None,
        grid_points: ArrayLike | None = None,
        domain_range: tuple[float, float] | None = None,
        quadrature: Any = "trapezoid",
        mechanism: Any = "auto",
        neighbours: str = "replace-one",
        public_size: int | None = None,
        missing: str = "refuse",
        invalid: str = "refuse",
        smoothing: float = 0.01,
        prior: Any = None,
        unit: str | None = None,
        labels: Any = None,
        ledger: Any = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.standardize = standardize
        self.kernel = kernel
        self.basis = basis
        self.grid_points = grid_points
        self.domain_range = domain_range
        self.quadrature = quadrature
        self.mechanism = mechanism
        self.neighbours = neighbours
        self.public_size = public_size
        self.missing = missing
        self.invalid = invalid
        self.smoothing = smoothing
        self.prior = prior
        self.unit = unit
        self.labels = labels
        self.ledger = ledger
        self.dataset = dataset

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Release the mean of the curves.

        Parameters
        ----------
        X : array (n, m), DataFrame, Arrow table, DataArray, FDataGrid, LongCurves, Dask array or frame
            One curve a row, in the units of the data; NaN marks a missing value. Numeric labels of
            columns, or the coordinate of a DataArray, are the grid. Private.
        y : None
            Ignored.
        groups : array (n,) or str, optional
            Privacy unit of each record, for example the person. Private. Where X is a data frame also
            the label of one of its columns, which is then no part of the curve.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable. Nothing was charged and no noise was drawn.
        DataError
            If the data cannot be used as they are; row and column, never a value.
        BudgetError
            If the ledger refuses.
        """
        prepared = self.prepare(X, groups)
        self.release_ = publish(prepared.total, prepared.request, self.ledger, self.dataset)
        self.n_features_in_ = int(prepared.request.basis.weights.size)
        self._set_feature_names(X, groups)
        return self

    def open_session(self, X: Any, path: str | Path, groups: Any = None) -> FunctionalSession:
        """Answer functionals of the mean one at a time, instead of releasing the whole function.

        The guarantee of the whole path is charged at once; see `dpfda.FunctionalSession`.

        Parameters
        ----------
        X, groups
            As in `fit`. Private.
        path : path
            Where the session's secret state is kept; there must be no file yet.

        Raises
        ------
        RefusedMechanismError
            If the noise is not Gaussian, for example because delta is 0.
        """
        return FunctionalSession.open(self, X, path, groups)

    def stream(self) -> MeanStream:
        """Take the records in blocks, for data larger than memory; see `MeanStream`.

        Examples
        --------
        >>> import numpy as np
        >>> stream = PrivateMean(1.0, bounds=(-1, 1)).stream()
        >>> stream.add(np.zeros((50, 8))).add(np.ones((50, 8))).release().count
        100.0
        """
        return MeanStream(self)

    def fit_blocks(self, blocks: Iterable[Any]) -> Self:
        """Release the mean of records that come in blocks: any iterator of arrays or data frames.

        For example the row groups of a Parquet file, ``(group.to_pandas() for group in
        pyarrow.parquet.ParquetFile(path).iter_batches())``, or `dpfda.row_blocks` of a Zarr array.

        Parameters
        ----------
        blocks : iterable
            Each as X in `fit`, but for irregular curves. Private.

        Returns
        -------
        self
            With `release_`.
        """
        stream = add_all(MeanStream(self), blocks)
        self.release_ = stream.release()
        self.n_features_in_ = int(self.release_.basis.weights.size)
        self._set_feature_names(None)
        return self

    def _set_feature_names(self, X: Any, groups: Any = None) -> None:
        names = names_of(X, groups)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: noise in every fit, NaN only where it is dealt with."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.allow_nan = self.missing == "complete" or self.invalid == "repair"
        return tags

    def prepare(
        self, X: Any, groups: Any = None, progress: Callable[[Iterator[Any]], Iterator[Any]] = iter
    ) -> PreparedMean:
        """Everything before the noise: check, embed, clip, round, add up. The result is private.

        Parameters
        ----------
        X, groups
            As in `fit`.
        progress : callable
            Wraps the iterator over records of irregular curves.
        """
        # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
        check_choices(self)
        with np.errstate(all="ignore"):
            if is_dask(X):
                return self._prepare_on_cluster(X, groups)
            return self._prepare(X, groups, progress)

    def _prepare_on_cluster(self, X: Any, groups: Any) -> PreparedMean:
        if groups is not None:
            raise DataError(
                "groups cannot be used with Dask: one person's records may lie in several partitions. "
                "Average each person's records first, one row a person."
            )
        from dpfda.summaries.clusters import prepare_on_cluster

        return PreparedMean(*prepare_on_cluster(self, X))

    def _prepare(
        self, X: Any, groups: Any, progress: Callable[[Iterator[Any]], Iterator[Any]]
    ) -> PreparedMean:
        neighbours = Neighbours.parse(self.neighbours)
        bound = read_bounds(self.bounds, self.standardize)
        values, basis, groups = self._read(X, groups)
        if isinstance(X, LongCurves):
            groups = X.record_groups(self.invalid) if groups is None else groups
            curves = curves_from_long(X, basis, self.smoothing, self.invalid, progress)
        else:
            values = matrix_on(values, basis, self.missing, self.invalid)
            if groups is None:
                # Nothing needs all records at once: they are read block by block, where they lie.
                request = self._request(basis, bound, self._size(neighbours, len(values)), None)
                summation = self._summation(request, request.components())
                total = summation.empty()
                summation.add(total, values)
                return PreparedMean(request, summation.finish(total, request))
            curves = curves_from_array(values, flat_grid(basis), self.missing, self.invalid)
        if self.standardize:
            curves = standardized(curves, basis.weights)
        if groups is not None:
            codes = unit_codes(groups, curves.usable.size, self.invalid)
            curves = units(curves, codes)
        request = self._request(basis, bound, self._size(neighbours, curves.usable.size), groups)
        summation = self._summation(request, request.components())
        total = summation.empty()
        summation.add_curves(total, curves)
        return PreparedMean(request, summation.finish(total, request))

    def _request(self, basis: Any, bound: Any, size: int | None, groups: Any) -> Request:
        prior = getattr(self, "prior", None)
        centers = None if prior is None else read_public_curves(prior, flat_grid(basis))
        request = Request(
            basis,
            bound,
            budget(self.epsilon, self.delta),
            Neighbours.parse(self.neighbours),
            self.mechanism,
            size,
            self._unit(groups),
            {
                "summary": "mean curve",
                "standardized": bool(self.standardize),
                **read_labels(self.labels, boxes=True),
            },
            centers=centers,
        )
        if centers is not None and not request.answers_with_line:
            raise ParameterError(
                "prior",
                "be None but for the default mean of curves between bounds",
                f"{len(centers)} curve(s)",
                "Give bounds=(lower, upper) and no kernel, basis or mechanism of your own.",
            )
        return request

    def _summation(self, request: Request, components: int) -> Summation:
        return Summation(request, components, self.missing, self.invalid, bool(self.standardize))

    def _size(self, neighbours: Neighbours, count: int) -> int | None:
        if neighbours is Neighbours.ADD_REMOVE:
            if count < 2 and self.invalid == "refuse":
                raise DataError(
                    "There must be at least two privacy units; found one sample or none. "
                    "This check is outside the privacy guarantee."
                )
            return _positive(self.public_size, "public_size")
        if self.public_size is not None:
            raise ParameterError(
                "public_size",
                "be None under replace-one neighbours, where the number of units is public",
                repr(self.public_size),
            )
        if count < 2:
            raise DataError(
                f"There must be at least two privacy units; found {count} "
                f"({count} sample(s), n_samples = {count})."
            )
        return count

    def _unit(self, groups: Any) -> str:
        return self.unit or ("record" if groups is None else "group")

    def _read(self, X: Any, groups: Any = None) -> tuple[Any, Basis, Any]:
        """The values as they are, the public basis for them, and the units' labels."""
        handed = self._handed(X, groups)
        if self.basis is not None:
            return handed.values, self.basis, handed.groups
        grid, domain = self.grid_points, self.domain_range
        if grid is None:
            grid, labelled = handed.grid, handed.grid is not None
            grid = check_grid(grid, shown=False) if labelled else self._spaced_grid(handed.values)
        domain = handed.domain_range if domain is None else domain
        points = check_grid(grid)
        return handed.values, self._make_basis(points, check_domain(domain, points)), handed.groups

    def _values(self, X: Any) -> Any:
        """The values as they are, where the basis is known already."""
        return self._handed(X).values

    def _handed(self, X: Any, groups: Any = None) -> Handed:
        if isinstance(X, LongCurves):
            return Handed(X, groups)
        refuse_kinds(X)
        return curves_handed(X, groups, self.grid_points is not None or self.basis is not None)

    def _spaced_grid(self, values: Any) -> Floats:
        domain = check_domain((0.0, 1.0) if self.domain_range is None else self.domain_range)
        if isinstance(values, LongCurves):
            if self.domain_range is None:
                raise ParameterError(
                    "domain_range",
                    "be given for irregular curves",
                    "None",
                    "The span of the observed times is private; pass the public ends (a, b).",
                )
            return equally_spaced(LONG_GRID, domain)
        shape = shape_of(values)
        if len(shape) != 2:
            raise DataError(
                f"X must have two dimensions (curves, points); found {len(shape)}. "
                "Reshape your data: one curve a row."
            )
        if shape[0] == 0:
            raise DataError("X must hold at least two curves; found none (0 sample(s)).")
        if shape[1] < 2:
            raise DataError(
                f"X must have at least two grid points; found {shape[1]} feature(s) "
                f"(shape=({shape[0]}, {shape[1]})) while a minimum of 2 is required."
            )
        return equally_spaced(shape[1], domain)

    def _make_basis(self, grid: Floats, domain: tuple[float, float]) -> Basis:
        kernel = self.kernel
        if kernel is None:
            kernel = default_kernel(domain)
        elif isinstance(kernel, str):
            kernel = parse_kernel(kernel, domain)
        basis = KernelBasis.on_grid(kernel, grid, domain, self.quadrature)
        # Standardised curves integrate to zero: noise on their mean level would be for nothing.
        return CentredBasis.of(basis) if self.standardize else basis


def _positive(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if not (isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1):
        raise ParameterError(name, "be a positive integer", repr(value))
    return int(value)
