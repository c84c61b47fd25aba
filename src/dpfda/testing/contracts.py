"""Contracts of a noise law and of a mechanism, to be run by whoever adds one.

Each assertion about draws raises a false alarm with chance about `FALSE_ALARM`, and each is shown to be
able to fail: the law cut or stretched by sqrt(2) must not pass.

The contract of a kind of release, to be run by whoever adds one.
"""

from __future__ import annotations

import copy
import csv
import json
import math
import pickle
import tempfile
from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
import scipy

from dpfda.bases import Basis, KernelBasis
from dpfda.bases.kernels import default_kernel
from dpfda.bounds import Bound
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.design import adapted, choose
from dpfda.noise import AnyNorm, NoiseLaw, Width, achieved_guarantee, cost_of
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError, StorageError
from dpfda.numerics.parameters import shown
from dpfda.privacy.composition import compose
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    within,
)
from dpfda.publication import MeanPlan
from dpfda.releases.base import Release, load
from dpfda.releases.facts import LINE
from dpfda.views import to_csv, to_frame

FALSE_ALARM = 1e-6
ROOT = math.sqrt(2.0)
# Standard deviations of a mean that are allowed.
SIGMAS = 6.0


def check_law(
    noise: NoiseLaw,
    norm: AnyNorm,
    width: Width,
    requested: Guarantee,
    *,
    draws: int = 2000,
    seed: int = 0,
    tight: bool = True,
) -> None:
    """Check what a noise law says of itself: draws, variances, mixture, file, guarantee and loss.

    Parameters
    ----------
    noise : NoiseLaw
        Scaled to the guarantee, with a finite fourth moment.
    norm, width
        Set in which neighbouring sums differ, as in `dpfda.noise.achieved_guarantee`.
    requested : Guarantee
        What the noise was scaled to. Where the law has a `log_density`, what it gives is compared with
        the density ratio on random neighbours; a delta must be large, a hundredth say, to be counted.
    draws : int
        Number of exact draws.
    seed : int
        Of the simulation, which is not private.
    tight : bool
        Whether what is promised is attained at the ends of the set, so that a promise sqrt(2) times too
        large fails as well.

    Raises
    ------
    AssertionError
        If the law breaks the contract.
    """
    generator = np.random.default_rng(seed)
    simulated = np.asarray(noise.simulate(generator, 10 * draws), dtype=float)
    assert simulated.shape == (10 * draws, noise.components), "simulate has another shape"
    _check_draws(noise, simulated, draws)
    _check_moments(noise, simulated)
    written, kind = json.loads(json.dumps(noise.to_json())), cast("Any", type(noise))
    assert written["law"] == kind.law and kind.from_json(written) == noise, "to_json loses the law"
    achieved = achieved_guarantee(noise, norm, width, requested)
    assert within(achieved, requested), f"{achieved} exceeds {requested}"
    density = getattr(noise, "log_density", None)
    if density is not None:
        shifts = differences(norm, width, noise.components, generator)
        _check_ratio(noise, density, achieved, simulated, shifts, tight)
        _check_profile(noise, density, achieved, requested, simulated, shifts)


def _check_draws(noise: NoiseLaw, simulated: Floats, draws: int) -> None:
    raw = [noise.draw() for _ in range(draws)]
    assert all(type(value) is int for value in raw[0]), "draw gives something else than integers"
    drawn = np.array(raw, dtype=float)
    assert drawn.shape == (draws, noise.components), "draw has another length"
    deviations = np.sqrt(noise.variances())

    def lengths(points: Floats) -> Floats:
        return np.asarray(np.linalg.norm(np.rint(points) / deviations, axis=1))

    sizes = lengths(drawn)
    assert _same(sizes, lengths(simulated)), "draws and simulation have different lengths"
    for factor in (ROOT, 1 / ROOT):
        assert not _same(sizes, lengths(simulated * factor)), "too few draws to tell a scale by sqrt(2)"
    for column in {0, noise.components // 2, noise.components - 1}:
        same = _same(drawn[:, column], np.rint(simulated[:, column]))
        assert same, f"draws and simulation differ in component {column}"


def _same(first: Floats, second: Floats) -> bool:
    return bool(scipy.stats.ks_2samp(first, second).pvalue > FALSE_ALARM)


def _check_moments(noise: NoiseLaw, simulated: Floats) -> None:
    stated = noise.variances()
    squares = simulated**2
    error = SIGMAS * squares.std(axis=0) / math.sqrt(len(squares))
    assert np.all(np.abs(squares.mean(axis=0) - stated) <= error), "variances are not those of simulate"
    mixture = noise.mixture()
    if mixture is not None:
        for block in mixture.blocks:
            mean = float(np.exp(block.logs) @ block.factors)
            variances = mean * mixture.deviations[block.start : block.stop] ** 2
            close = np.allclose(variances, stated[block.start : block.stop], rtol=1e-3)
            assert close, "the mixture has other variances"


def differences(norm: AnyNorm, width: Width, count: int, generator: np.random.Generator) -> Floats:
    """Extreme differences (40, count) between neighbouring sums: where losses are largest."""
    sizes = np.full(count, float(width)) if isinstance(width, int) else np.array(width[:count], float)
    if norm in ("linf", "box"):
        signs = generator.integers(0, 2, (40, count)) * 2.0 - 1
        return np.asarray(np.vstack([np.ones(count), signs[1:]]) * sizes)
    ends = np.eye(count)[np.arange(20) % count]
    if norm == "l1":
        inside = generator.dirichlet(np.ones(count), 20)
    else:
        normal = generator.standard_normal((20, count))
        inside = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    return np.asarray(np.vstack([ends, inside]) * sizes)


def _check_ratio(
    noise: NoiseLaw,
    density: Callable[[Floats], Floats],
    achieved: Guarantee,
    simulated: Floats,
    shifts: Floats,
    tight: bool,
) -> None:
    """A pure loss against log density ratios near the centre and far out along the shift."""
    if not isinstance(achieved, PureDP):
        return
    epsilon, largest = float(achieved.epsilon), 0.0
    for shift in shifts:
        along = np.geomspace(0.1, 1e6, 200)[:, None] * shift
        points = np.vstack([simulated[:500], along, simulated[:200] + along])
        ratios = np.abs(density(points) - density(points - shift))
        largest = max(largest, float(ratios.max()))
    assert largest <= epsilon * (1 + 1e-6), f"a density ratio of {largest:g} exceeds epsilon {epsilon:g}"
    assert not tight or largest > epsilon / ROOT, f"no density ratio is near epsilon: {largest:g}"


def _check_profile(
    noise: NoiseLaw,
    density: Callable[[Floats], Floats],
    achieved: Guarantee,
    requested: Guarantee,
    simulated: Floats,
    shifts: Floats,
) -> None:
    """The delta that is promised, and the profile that is charged, against the mean of the draws."""
    profile = cost_of(noise, achieved, requested).loss
    for shift in shifts:
        losses = density(simulated) - density(simulated - shift)
        for epsilon in (Fraction(0), Fraction(1, 4), Fraction(1)):
            delta = _delta(losses, float(epsilon))
            assert delta <= float(profile.delta(epsilon)), f"the loss is too small at {epsilon}"
        if isinstance(achieved, ApproximateDP):
            delta = _delta(losses, float(achieved.epsilon))
            assert delta <= float(achieved.delta), f"a delta of at least {delta:g} exceeds {achieved}"
        if isinstance(achieved, ZeroConcentratedDP):
            assert _lower(losses) <= float(achieved.rho), f"the divergence exceeds {achieved}"


def _delta(losses: Floats, epsilon: float) -> float:
    return _lower(np.maximum(-np.expm1(epsilon - losses), 0.0))


def _lower(values: Floats) -> float:
    """A lower bound of the mean, up to chance and the rounding of floats."""
    return float(values.mean() - SIGMAS * values.std() / math.sqrt(values.size)) - 1e-9


def make_problem(
    basis: Basis,
    bound: Bound,
    size: int,
    guarantee: Guarantee,
    neighbours: Neighbours = Neighbours.REPLACE_ONE,
) -> Problem:
    """What a named mechanism sees of a mean of so many units."""
    return MeanPlan(basis, bound, guarantee, neighbours, "named", size, "record", {}).problem(size)


def check_mechanism(
    mechanism: object,
    bound: Bound,
    guarantee: Guarantee,
    neighbours: Neighbours = Neighbours.REPLACE_ONE,
    *,
    size: int = 200,
    basis: Basis | None = None,
    spent: float = 0.9,
) -> Design | None:
    """Check that a mechanism answers a problem with a sound design, or refuses with a remedy.

    Parameters
    ----------
    mechanism : str or Mechanism
    bound, guarantee, neighbours, size, basis
        The public problem; by default 24 points on [0, 1] and the default kernel.
    spent : float
        Share of the budget that the noise must use.

    Returns
    -------
    Design or None
        None where the mechanism refused.

    Raises
    ------
    AssertionError
        If the mechanism breaks the contract.
    """
    basis = basis or KernelBasis.on_grid(default_kernel((0.0, 1.0)), np.linspace(0, 1, 24))
    try:
        adjusted = adapted(mechanism, basis, bound, size, guarantee, neighbours)
        problem = make_problem(*adjusted, size, guarantee, neighbours)
        design = choose(problem, mechanism)
    except ParameterError as refusal:
        assert refusal.remedy, "a refusal needs a remedy"
        return None
    achieved = achieved_guarantee(design.noise, *problem.differences(design), guarantee)
    assert within(achieved, guarantee), f"{achieved} exceeds {guarantee}"
    assert _size(achieved) > spent * _size(guarantee), f"{achieved} spends little of {guarantee}"
    draw = design.noise.draw()
    assert len(draw) == design.components == design.shrinkage.size
    assert all(type(value) is int for value in draw)
    assert np.all((design.shrinkage >= 0) & (design.shrinkage <= 1)), "factors leave [0, 1]"
    return design


def _size(guarantee: Guarantee) -> float:
    if isinstance(guarantee, ApproximateDP):
        return float(guarantee.delta)
    return float(guarantee.epsilon if isinstance(guarantee, PureDP) else guarantee.rho)


def check_release(release: Release) -> None:
    """Check that a release can be shown, tabulated, drawn, saved, sent and composed as all others.

    Parameters
    ----------
    release : Release
        Of the kind to be checked, made as its users make it.

    Raises
    ------
    AssertionError
        If the kind breaks the contract.
    """
    if not isinstance(release, Release):
        raise ParameterError("release", "be a release", shown(release))
    _check_certificate(release)
    _check_words(release)
    _check_table(release)
    _check_picture(release)
    _check_immutable(release)
    with tempfile.TemporaryDirectory() as folder:
        _check_file(release, Path(folder))
    for again in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):  # noqa: S301
        _check_alike(again, release)


def _check_certificate(release: Release) -> None:
    assert within(release.certificate.achieved, release.guarantee), (
        "the noise gives less than is claimed"
    )
    assert within(compose([release]), release.guarantee), "it composes to more than it claims"


def _check_words(release: Release) -> None:
    report = release.describe()
    flat = " ".join(report.split())
    assert max(map(len, report.splitlines())) <= LINE, "a line of the report is too long"
    title = release._title
    for text in (flat, release.facts.citation, repr(release)):
        assert release.unit in text, "it is not said who is protected"
    for text in (release.facts.citation, repr(release), release._subtitle):
        assert str(release.guarantee) in text, "the guarantee is not said"
    assert "(dpfda compose)" in flat, "what it counts as is not said"
    assert title.endswith(f"each {release.unit} is protected"), "its title does not say who is protected"
    summary = json.loads(json.dumps(release.facts.to_json(), allow_nan=False))
    assert summary["guarantee"]["words"] == str(release.guarantee), "a summary states the guarantee"
    assert summary["privacy_unit"] == release.unit, "a summary states the privacy unit"


def _check_table(release: Release) -> None:
    table = release.table()
    names, coordinates = [*table.columns], len(release._axes)
    assert names[:coordinates] == [*release._axes], "a table starts with the coordinates"
    assert len(names) > coordinates, "a table has no values"
    for name, column in table.columns.items():
        assert column.ndim == 1, f"{name} is no column"
        assert np.all(np.isfinite(column)), f"{name} has values that are no numbers"
    points = np.column_stack([table.columns[name] for name in release._axes])[:3]
    few = release.table(points)
    for name in names:
        if name not in ("lower", "upper"):
            same = np.allclose(few.columns[name], table.columns[name][:3], rtol=1e-6, atol=1e-9)
            assert same, f"{name} depends on the points beside it"
    header, *rows = csv.reader(to_csv(few).splitlines())
    titles = [f"{name}: {table.meanings[name]}" for name in names]
    assert header == titles, "the first line of its CSV says what the columns are"
    assert len(rows) == len(points), "its CSV has another number of lines"
    if find_spec("pandas") is not None:
        assert list(to_frame(few).columns) == names, "its data frame has other columns"
    if {"lower", "upper"} <= set(names):
        lower, upper = table.columns["lower"], table.columns["upper"]
        assert np.all(lower <= upper), "the band is turned over"
        if "value" in names:
            values = table.columns["value"]
            assert np.all((lower <= values) & (values <= upper)), "values leave their band"
        less, more = ((t.columns["upper"] - t.columns["lower"])[:3] for t in (few, table))
        # Both hold over the whole domain, from simulations of their own.
        assert np.allclose(less, more, rtol=0.1), "the band depends on the points beside it"
    try:
        release.table(np.full((1, coordinates + 1), 0.5))
    except ParameterError as refusal:
        assert f"points of {coordinates} coordinate(s)" in str(refusal), "points are refused in words"
    else:
        raise AssertionError("points of too many coordinates are taken")


def _check_picture(release: Release) -> None:
    try:
        view = release.view()
    except ParameterError as refusal:
        assert refusal.remedy, "a refusal needs a remedy"
        return
    assert view.title == release._title, "the picture has another title"
    assert view.subtitle.startswith(release._subtitle), "the picture does not say the guarantee"
    assert view.x_label, "an axis has no words"
    assert view.y_label, "an axis has no words"
    if find_spec("matplotlib") is not None:
        from matplotlib.figure import Figure

        drawn = release.plot(Figure().subplots())
        words = {drawn.get_xlabel(), drawn.get_ylabel()}
        assert words == {view.x_label, view.y_label}, "the axes of the picture have other words"


def _check_immutable(release: Release) -> None:
    try:
        release.certificate = None  # type: ignore[misc,assignment]
    except AttributeError:
        pass
    else:
        raise AssertionError("a release can be changed")
    for name, value in vars(release).items():
        assert not isinstance(value, dict), f"{name} can be changed"
        assert not (isinstance(value, np.ndarray) and value.flags.writeable), f"{name} can be changed"
    assert isinstance(release.about, Mapping), "labels are a mapping"


def _check_file(release: Release, folder: Path) -> None:
    path = release.save(folder / "release.json", overwrite=True)
    again = load(path)
    _check_alike(again, release)
    _check_alike(type(release).load(path), release)
    first, second = (to_csv(version.table()) for version in (again, release))
    assert first == second, "it comes back with other values"
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["format"] == release._FORMAT, "the file does not say its format"
    parts = {name: json.dumps({name: part})[1:-1] for name, part in written.items()}
    for name in written:
        damaged = ", ".join(text for key, text in parts.items() if key != name)
        path.write_text(f"{{{damaged}}}", encoding="utf-8")
        try:
            load(path)
        except StorageError:
            continue


def _check_alike(again: Release, release: Release) -> None:
    assert type(again) is type(release), "it comes back as another kind"
    written = [json.dumps(version.to_json(), allow_nan=False) for version in (again, release)]
    assert written[0] == written[1], "it comes back with other contents"
    assert repr(again) == repr(release), "it comes back with other words"
    assert again.certificate == release.certificate, "it comes back with another certificate"
