"""What a release of each kind says: its report, its facts, its table, its values at points.

One entry a kind, by the name of its class; a class without one is told by its nearest ancestor's.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpfda.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Columns = dict[str, list[float]]
# Rows of the table of a density on an interval; along each axis on a rectangle.
ON_LINE, ON_AXIS = 201, 64


@dataclass(frozen=True)
class Kind:
    """How a kind of release is told. Texts "module:function" are imported when they are needed.

    Parameters
    ----------
    report, cited, size : str
        In words; as it is to be cited; the public number of units, or None.
    stated : callable
        Parts of its file that it states about itself, as JSON types.
    facts : callable
        Further lines for the terminal.
    table : callable, optional
        Columns of its table.
    curves : callable
        Functions of one variable that it holds, by name; of several, ``value`` is the release itself.
    square : bool
        Whether it makes its own axis to be drawn on.
    """

    report: str = "dpfda.front.report:describe_certified"
    cited: str = ""
    size: str = ""
    stated: Callable[[Any], Mapping[str, Any]] = lambda release: {"about": dict(release.about)}
    facts: Callable[[Any], dict[str, str]] = lambda release: {}
    table: Callable[[Any], Columns] | None = None
    curves: Callable[[Any], dict[str, Any]] = lambda release: {}
    square: bool = False


def _written(release: Any, home: str, names: str) -> dict[str, Any]:
    """Entries of the file of a release."""
    written = importlib.import_module(home).to_json(release)
    return {name: written[name] for name in names.split()}


COMMON = "guarantee neighbours privacy_unit bound mechanism about"


def _function(release: Any) -> dict[str, Any]:
    from dpfda.front.report import accuracy_of, misfit, verdict

    return {
        **_written(release, "dpfda.releases.storage.functions", COMMON),
        "kernel": release.basis.describe(),
        "domain_range": list(release.domain_range),
        "noise": {"words": release.noise.describe(), **vars(accuracy_of(release))},
        "verdict": verdict(release),
        "misfit": misfit(release),
    }


def _function_facts(release: Any) -> dict[str, str]:
    from dpfda.front.report import accuracy_of, is_line, misfit, number, verdict

    accuracy = accuracy_of(release)
    units = release.about.get("value", "units of the data")
    units = "standardised" if release.about.get("standardized") else units
    within = f"within {number(accuracy.typical)} typically, {number(accuracy.largest)} at most"
    if not is_line(release):
        return {"noise": f"everywhere {within}, with probability {accuracy.level:.0%}; {units}"}
    often = f"{100 * accuracy.level:g} of 100 releases"
    facts = {
        "accuracy": verdict(release),
        "band": f"meant to hold the mean everywhere in {often}, {within}; {units}",
        "misfit": misfit(release),
    }
    return {name: words for name, words in facts.items() if words is not None}


def _function_table(release: Any) -> Columns:
    return band_columns(release, release.grid_points)


def _covariance(release: Any) -> dict[str, Any]:
    found = release.components()
    return {
        **_written(release, "dpfda.releases.storage.covariances", COMMON),
        "kernel": release.basis.describe(),
        "domain_range": list(release.domain_range),
        "noise": release.noise.describe(),
        "noise_floor": found.floor,
        "components": found.variances.tolist(),
    }


def _covariance_facts(release: Any) -> dict[str, str]:
    found = release.components()
    above = sum(float(variance) > found.floor for variance in found.variances)
    variances = ", ".join(f"{value:.3g}" for value in found.variances)
    return {"components": f"{above} above the noise floor of {found.floor:.3g}; variances {variances}"}


def _covariance_table(release: Any) -> Columns:
    import numpy as np

    first, second = (axis.ravel() for axis in np.meshgrid(release.grid_points, release.grid_points))
    return {
        "s": first.tolist(),
        "t": second.tolist(),
        "covariance": release(first, second).tolist(),
        "correlation": release.correlation(first, second).tolist(),
    }


def _difference_band(release: Any, points: Any = None) -> Any:
    return release.difference(*release.names[:2]).band(points=points)


def _outside(release: Any) -> bool:
    """Whether zero leaves the band of the difference somewhere: more than noise alone would do."""
    band = _difference_band(release)
    return not bool(band.contains(0.0 * band.points))


def _comparison(release: Any) -> dict[str, Any]:
    from dpfda.releases.storage.functions import public_parts

    return {
        **public_parts(release[release.names[0]]),
        "groups": list(release.names),
        "composition": release.describe_composition(),
        "difference": {"names": list(release.names[:2]), "outside_noise": _outside(release)},
    }


def _comparison_facts(release: Any) -> dict[str, str]:
    first, second = release.names[:2]
    verdict = "leaves zero somewhere" if _outside(release) else "contains zero everywhere"
    return {
        "difference": f"{first} minus {second}; its 95% band for the privacy noise {verdict} "
        "(sampling is not in it)"
    }


def _comparison_table(release: Any) -> Columns:
    first, second = release.names[:2]
    points = release[first].grid_points
    band = _difference_band(release, points)
    return {
        "point": points.tolist(),
        **{f"mean {name}": mean(points).tolist() for name, mean in release.means.items()},
        f"{first} minus {second}": ((band.lower + band.upper) / 2).tolist(),
        "lower": band.lower.tolist(),
        "upper": band.upper.tolist(),
    }


def _predictor(release: Any) -> dict[str, Any]:
    names = "guarantee neighbours privacy_unit units task loss classes mechanism"
    return {
        **_written(release, "dpfda.releases.storage.predictors", names),
        "features": release.features.describe(),
    }


def _density(release: Any) -> dict[str, Any]:
    from dpfda.releases.storage.densities import to_json

    names = ("guarantee", "achieved_guarantee", "neighbours", "privacy_unit", "about")
    written = to_json(release)["raw"]
    return {name: written[name] for name in names} | {
        "mechanism": dict(release.raw.mechanism),
        "domain_range": [list(ends) for ends in release.domain_range],
    }


def _density_table(release: Any) -> Columns:
    import numpy as np

    if release.dimensions == 1:
        start, end = release.domain_range[0]
        points = np.linspace(start, end, ON_LINE)
        band = release.band(points=points)
        columns = {
            "point": points,
            "value": release(points),
            "cdf": release.cdf(points),
            "lower": band.lower,
            "upper": band.upper,
        }
        return {name: column.tolist() for name, column in columns.items()}
    shape = (ON_AXIS,) * 2
    axes = np.meshgrid(*release.midpoints(shape), indexing="ij")
    made = {f"point_{i + 1}": axis.ravel().tolist() for i, axis in enumerate(axes)}
    return made | {"value": release.on_grid(shape).ravel().tolist()}


KINDS = {
    "ReleasedFunction": Kind(
        "dpfda.front.report:describe", "dpfda.front.report:cited", "dpfda.front.report:public_size",
        _function, _function_facts, _function_table,
    ),
    "ReleasedCovariance": Kind(
        "dpfda.front.report.covariances:describe_second_order",
        stated=_covariance, facts=_covariance_facts, table=_covariance_table, square=True,
    ),
    "ReleasedComponents": Kind(
        "dpfda.front.report.covariances:describe_second_order",
        curves=lambda release: {f"component {k + 1}": release.function(k) for k in range(release.count)},
    ),
    "ReleasedComparison": Kind(
        "dpfda.front.report.covariances:describe_comparison",
        stated=_comparison, facts=_comparison_facts, table=_comparison_table,
        curves=lambda release: {f"mean {name}": mean for name, mean in release.means.items()},
    ),
    "ReleasedPredictor": Kind(
        "dpfda.front.report.predictors:describe_predictor",
        "dpfda.front.report.predictors:cited_predictor",
        "dpfda.front.command.kinds:units_of", _predictor,
    ),
    "ReleasedDensity": Kind(
        "dpfda.front.report.densities:describe_density", "dpfda.front.report.densities:cited_density",
        "dpfda.front.report.densities:public_units", _density, table=_density_table,
    ),
}  # fmt: skip
OTHER = Kind()


def kind_of(release: object) -> Kind:
    """How a release is told."""
    return next((KINDS[c.__name__] for c in type(release).__mro__ if c.__name__ in KINDS), OTHER)


def report(release: Any) -> str:
    """What it promises, in plain words."""
    return str(_called(kind_of(release).report, release))


def stated(release: Any) -> dict[str, Any]:
    """What it states about itself, as JSON types."""
    from dpfda.releases.storage.parts import guarantee_to_json

    return {
        "guarantee": guarantee_to_json(release.guarantee),
        "neighbours": str(release.neighbours),
        "privacy_unit": release.unit,
        **kind_of(release).stated(release),
    }


def shown(release: Any) -> dict[str, Any]:
    """All that is said of it, as JSON types."""
    from dpfda.front.report import cautions

    kind = kind_of(release)
    cited = {"citation": _called(kind.cited, release)} if kind.cited else {}
    told = list(cautions(release.guarantee, _called(kind.size, release)))
    return {**stated(release), "warnings": told, **cited, "report": report(release)}


def warnings(release: Any) -> list[str]:
    """What is to be said against it: a weak promise, or a kernel that relates no two points."""
    from dpfda.front.command.checks import kernel_warning
    from dpfda.front.report import cautions

    kernel = getattr(getattr(release, "basis", None), "kernel", None)
    found = list(cautions(release.guarantee, _called(kind_of(release).size, release)))
    if kernel is not None and isinstance(release.domain_range[0], float):
        about = kernel_warning(kernel, release.grid_points, release.domain_range)
        found = [about, *found] if about is not None else found
    return found


def facts(release: Any) -> dict[str, str]:
    """Further lines for the terminal."""
    return kind_of(release).facts(release)


def table(release: Any) -> Columns:
    """The columns of its table."""
    make = kind_of(release).table
    if make is None:
        raise ParameterError("--csv", "be left out for this kind of release", type(release).__name__)
    return make(release)


def drawn(release: Any) -> Axes:
    """A picture, without a window."""
    from dpfda.front.command.outputs import new_picture

    if kind_of(release).square:
        import matplotlib

        matplotlib.use("Agg")
        return release.plot()  # type: ignore[no-any-return]
    return release.plot(new_picture())  # type: ignore[no-any-return]


def units_of(release: Any) -> int:
    """The public number of units of a predictor."""
    return int(release.size)


def band_columns(
    release: Any, points: Any, level: float = 0.95, everywhere: bool = True, kind: str = "mean"
) -> Columns:
    """Points, values and band of a curve."""
    from dpfda.front.report import band_at

    band = band_at(release, points, level, everywhere, kind)
    return {
        "point": band.points.tolist(),
        "value": release(band.points).tolist(),
        "lower": band.lower.tolist(),
        "upper": band.upper.tolist(),
    }


def values(release: Any, points: Sequence[Sequence[float]] | None) -> Columns:
    """Coordinates, and the values there of a release that has no band for each point."""
    import numpy as np

    curves = kind_of(release).curves(release)
    covariance = kind_of(release).square
    count = 2 if covariance else np.atleast_2d(release.domain_range).shape[0]
    if points is None and curves:
        points = [[float(point)] for point in release.grid_points]
    if points is None or any(len(point) != count for point in points):
        found = "none" if points is None else ", ".join(sorted({str(len(point)) for point in points}))
        raise ParameterError(
            "--at",
            f"give points of {count} coordinate(s) for this release",
            found,
            "Example: --at " + ",".join([":".join(["0.5"] * count)] * 2),
        )
    columns = np.array(points).T
    names = ["point"] if count == 1 else [f"point_{axis + 1}" for axis in range(count)]
    made = dict(zip(names, columns.tolist(), strict=True))
    if curves:
        return made | {name: curve(columns[0]).tolist() for name, curve in curves.items()}
    found_values = release(*columns) if covariance else release(columns[0] if count == 1 else columns.T)
    return made | {"value": np.atleast_1d(found_values).tolist()}


def _called(home: str, release: Any) -> Any:
    """What a function says of a release; None without one."""
    if not home:
        return None
    module, name = home.split(":")
    return getattr(importlib.import_module(module), name)(release)
