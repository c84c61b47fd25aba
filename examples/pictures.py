"""Draw the pictures at the head of pages, of real data.

Run with: python examples/pictures.py FOLDER [NAME ...]
DPFDA_DATA_DIR names a folder with dti_cca.csv, adelaide_monday_demand.csv and, in atlas, sets of curves.
"""

import os
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from statsmodels.datasets import anes96

from dpfda import (
    Domain,
    Ledger,
    PrivateComparison,
    PrivateCurveClusters,
    PrivateCurveSampler,
    PrivateDensity,
    PrivateEqualityTest,
    PrivateFunctionalRegression,
    PrivateMean,
    PrivateQuantiles,
    PrivateReferenceBand,
    PrivateScalarOnFunction,
    PrivateScoreCurves,
)
from dpfda.bases import BoxBasis
from dpfda.datasets import load_temperatures
from dpfda.errors import BudgetError
from dpfda.mechanisms.iclp import ICLP
from dpfda.privacy.composition import BlockLoss, Cost, compose
from dpfda.privacy.guarantees import PureDP
from dpfda.records import LongCurves
from dpfda.tuning import cross_validate

FOLDER = Path(os.environ["DPFDA_DATA_DIR"])


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Points and curves of a set of the atlas."""
    points, *curves = np.genfromtxt(FOLDER / "atlas" / f"{name}.csv", delimiter=",")
    return points, np.array(curves)


def demand() -> tuple[Domain, np.ndarray]:
    """Half hours of a day, and the demand for electricity in Adelaide on 508 days."""
    labels = {"domain": "hour of the day", "value": "demand (MW)"}
    return Domain((np.arange(48) + 1) / 2, labels=labels), read("adelaide_demand")[1]


def scans() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Persons, whether they are patients, and their scans along a nerve tract, whole ones."""
    rows = np.genfromtxt(FOLDER / "dti_cca.csv", delimiter=",", skip_header=1)
    rows = rows[np.isfinite(rows).all(axis=1)]
    return rows[:, 0], rows[:, 2].astype(int).astype(str), rows[:, 3:]


def ages(**settings: float) -> tuple[Domain, np.ndarray]:
    """Ages of 944 persons who were asked about an election in 1996."""
    domain = Domain(domain_range=(18, 105), labels={"domain": "age (years)"}, **settings)
    return domain, anes96.load().data["age"].to_numpy()


def density(random: np.random.Generator) -> None:
    """The density of ages."""
    domain, years = ages(step=1)
    PrivateDensity(1, domain=domain, unit="person").fit(years).release_.plot()


def quantiles(random: np.random.Generator) -> None:
    """Quartiles of ages."""
    domain, years = ages(step=1)
    model = PrivateQuantiles(1, levels=(0.25, 0.5, 0.75), domain=domain, unit="person")
    model.fit(years).release_.plot()


def equality(random: np.random.Generator) -> None:
    """Patients and others, by scans along a nerve tract."""
    person, case, values = scans()
    test = PrivateEqualityTest(1, bounds=(0.2, 0.9), unit="person")
    test.fit(values, case, groups=person).release_.plot()


def sparse(random: np.random.Generator) -> None:
    """Heights of 4,000 children, three visits each, made of 93."""
    ages, heights = read("berkeley_growth")
    child = np.repeat(random.integers(len(heights), size=4000), 3)
    visit = random.integers(ages.size, size=child.size)
    labels = {"domain": "age (years)", "value": "height (cm)"}
    domain = Domain(domain_range=(1, 18), labels=labels)
    mean = PrivateMean(1, bounds=(50, 200), domain=domain, unit="child")
    seen = LongCurves(np.repeat(np.arange(4000), 3), ages[visit], heights[child, visit])
    mean.fit(seen).release_.plot()


def reference(random: np.random.Generator) -> None:
    """Usual days of demand."""
    hours, days = demand()
    PrivateReferenceBand(1, bounds=(500, 3500), domain=hours, unit="day").fit(days).release_.plot()


def clusters(random: np.random.Generator) -> None:
    """Days of demand, 5,000 made of 508."""
    hours, days = demand()
    drawn = days[random.integers(len(days), size=5000)]
    PrivateCurveClusters(1, bounds=(500, 3500), domain=hours, unit="day").fit(drawn).release_.plot()


def synthetic_curves(random: np.random.Generator) -> None:
    """Days of demand, 5,000 made of 508, and synthetic ones."""
    hours, days = demand()
    drawn = days[random.integers(len(days), size=5000)]
    model = PrivateCurveSampler(1, 1e-5, bounds=(500, 3500), domain=hours, unit="day")
    synthetic = model.fit(drawn).release_.sample(5000, random)
    _, axes = pyplot.subplots(1, 3, figsize=(13, 4), sharey=True, layout="constrained")
    for axis, title, curves in zip(axes, ("real", "synthetic"), (drawn, synthetic), strict=False):
        axis.plot(hours.grid_points, curves[:25].T, linewidth=0.8)
        axis.set_title(f"25 of 5,000, {title}")
    axes[2].plot(hours.grid_points, np.quantile(synthetic, (0.1, 0.5, 0.9), axis=0).T)
    axes[2].plot(hours.grid_points, np.quantile(drawn, (0.1, 0.5, 0.9), axis=0).T, "k:")
    axes[2].set_title("quantiles .1, .5, .9; dotted: real")
    for axis in axes:
        axis.set_xlabel(hours.labels["domain"])
    axes[0].set_ylabel(hours.labels["value"])


def default_mean(random: np.random.Generator) -> None:
    """The mean day of demand, and the mean without noise."""
    hours, days = demand()
    axis = PrivateMean(1, bounds=(500, 3500), domain=hours, unit="day").fit(days).release_.plot()
    axis.plot(hours.grid_points, days.mean(axis=0), "k--", linewidth=1, label="without noise")
    axis.legend()


def two_looks(random: np.random.Generator) -> None:
    """How far releases with one look and with two are off: 5,000 days of temperatures made of 365."""
    hours, days = read("seattle_temperature")
    drawn = days[random.integers(len(days), size=5000)]
    _, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for axis, looks in zip(axes, ("one look", "two looks"), strict=True):
        mechanism = "auto" if looks == "two looks" else "one-look"
        mean = PrivateMean(4, bounds=(-60, 140), domain=Domain(hours), mechanism=mechanism, unit="day")
        release = mean.fit(drawn).release_
        band, without = release.band(0.95, points=hours), drawn.mean(axis=0)
        axis.fill_between(hours, band.lower - without, band.upper - without, alpha=0.2, label="95% band")
        axis.plot(hours, release(hours) - without, label="released mean")
        axis.axhline(0, color="black", linestyle="--", linewidth=1, label="without noise")
        axis.set(title=looks, xlabel="hour of the day")
    axes[0].set_ylabel("difference (degrees Fahrenheit)")
    axes[1].legend(loc="lower right", fontsize="small")


def score_curves(random: np.random.Generator) -> None:
    """How well one measurement of tumours tells malignant ones, by a model fitted to others."""
    tumours = load_breast_cancer()
    radius, malignant = tumours.data[:, :1], tumours.target == 0
    order = random.permutation(malignant.size)
    fitted = LogisticRegression().fit(radius[order[:169]], malignant[order[:169]])
    risks, found = fitted.predict_proba(radius[order[169:]])[:, 1], malignant[order[169:]]
    PrivateScoreCurves(1, score_bounds=(0, 1), unit="patient").fit(risks, found).release_.plot()


def effects(random: np.random.Generator) -> None:
    """Scans of patients and others along a nerve tract, and least squares without noise."""
    person, case, values = scans()
    known = {"case": ["0", "1"]}
    model = PrivateFunctionalRegression(4, bounds=(0, 1), covariates=known, unit="person")
    release = model.fit(values, {"case": case}, groups=person).release_
    _, who, scans_of = np.unique(person, return_inverse=True, return_counts=True)
    chosen = [(case == k) / scans_of[who] for k in ("0", "1")]
    plain = [weights @ values / weights.sum() for weights in chosen]
    pieces = [
        (0, release.at(case="0"), plain[0], "case 0"),
        (0, release.at(case="1"), plain[1], "case 1"),
        (1, release["case=1"], plain[1] - plain[0], "case 1 less case 0"),
    ]
    _, axes = pyplot.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
    for place, curve, without, name in pieces:
        band, axis = curve.band(0.95), axes[place]
        (line,) = axis.plot(band.points, curve(band.points), label=name)
        axis.fill_between(band.points, band.lower, band.upper, color=line.get_color(), alpha=0.2)
        axis.plot(np.linspace(0, 1, without.size), without, "k--", linewidth=1)
    for axis, title in zip(axes, ("mean curves", "coefficient function"), strict=True):
        axis.set(title=title, xlabel="place along the tract", ylabel="fractional anisotropy")
        axis.legend()


def scalar_on_function(random: np.random.Generator) -> None:
    """Height at 18 from heights up to 12, of children with the mean and covariance of 93."""
    ages, heights = read("berkeley_growth")
    apart = heights - np.mean(heights, axis=0)
    mixed = random.normal(size=(5400, len(apart))) / np.sqrt(len(apart)) @ apart
    children = np.mean(heights, axis=0) + mixed
    early = ages <= 12
    domain = Domain(grid_points=ages[early])
    X, y = children[:, early], children[:, -1]
    private, plain = (
        PrivateScalarOnFunction(
            epsilon, 1e-5, bounds=(50, 190), target_bounds=(130, 220), domain=domain, unit="child"
        )
        .fit(X[:5000], y[:5000])
        .release_
        for epsilon in (1, 1e6)
    )
    shares = [1 - np.var(y[5000:] - each.predict(X[5000:])) / np.var(y) for each in (private, plain)]
    print("explained on new children, at epsilon 1 and 1e6:", *np.round(shares, 2))
    _, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    band = private.band(0.95)
    left.plot(band.points, private(band.points))
    left.fill_between(band.points, band.lower, band.upper, alpha=0.2)
    left.plot(band.points, plain(band.points), "k:")
    left.set(
        xlabel="age (years)", ylabel="cm at 18 per cm and year", title="coefficient function, 95% band"
    )
    foretold = private.predict(X[5000:])
    right.plot(foretold, y[5000:], ".")
    right.axline((170, 170), slope=1, color="gray", linewidth=0.7)
    words = {"xlabel": "predicted height at 18 (cm)", "ylabel": "height at 18 (cm)"}
    right.set(**words, title="400 new children")


def profiles(random: np.random.Generator) -> None:
    """Demand on Mondays by season and years."""
    demand = np.genfromtxt(FOLDER / "adelaide_monday_demand.csv", delimiter=",", skip_header=1)
    week = np.arange(len(demand))
    month = (np.datetime64("1997-07-07") + 7 * week).astype("datetime64[M]").astype(int) % 12
    seasons, years = ["summer", "autumn", "winter", "spring"], ["1997-2000", "2000-2003", "2003-2007"]
    groups = {
        "season": np.array(seasons)[(month + 1) // 3 % 4],
        "years": np.array(years)[week * 3 // week.size],
    }
    labels = {"domain": "hour of the day", "value": "demand (MW)"}
    domain = Domain((np.arange(48) + 1) / 2, labels=labels)
    comparison = PrivateComparison(
        4, bounds=(500, 3500), levels={"season": seasons, "years": years}, domain=domain, unit="Monday"
    )
    comparison.fit(demand, groups).release_.plot()


def releases(settings: dict[str, dict[str, Any]]) -> None:
    """Means of a year's temperatures beside each other, with bands, and the mean without noise."""
    days = load_temperatures()
    _, axes = pyplot.subplots(1, len(settings), figsize=(10, 3.4), sharey=True, layout="constrained")
    for axis, (title, given) in zip(axes, settings.items(), strict=True):
        chosen = {"epsilon": 1, "bounds": (-10, 40), "grid_points": days.grid_points} | given
        release = PrivateMean(**chosen, unit="day").fit(days.values).release_
        band = release.band(0.95)
        axis.fill_between(band.points, band.lower, band.upper, alpha=0.2, label="95% band")
        axis.plot(band.points, release(band.points), label="released mean")
        plain = days.values.mean(axis=0)
        axis.plot(days.grid_points, plain, "k--", linewidth=1, label="without noise")
        axis.set(title=title, xlabel="hour of the day")
    axes[0].set_ylabel("degrees Celsius")
    axes[-1].legend(fontsize="small")


def choosing_epsilon(random: np.random.Generator) -> None:
    """One mean at three epsilons."""
    releases({f"epsilon {epsilon:g}": {"epsilon": epsilon} for epsilon in (0.1, 1, 10)})


def choosing_bounds(random: np.random.Generator) -> None:
    """One mean between three bounds."""
    pairs = ((-100, 100), (0, 30), (5, 20))
    releases({f"bounds {low} and {high}": {"bounds": (low, high)} for low, high in pairs})


def reading_a_release(random: np.random.Generator) -> None:
    """A release that shows the course, and one that does not; the verdicts as titles."""
    hours, days = demand()
    _, axes = pyplot.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for axis, epsilon in zip(axes, (2, 0.05), strict=True):
        release = PrivateMean(epsilon, bounds=(500, 3500), domain=hours, unit="day").fit(days).release_
        words = release.facts.to_json()["verdict"]
        release.plot(axis).set_title(
            f"epsilon {epsilon}\n" + textwrap.fill(words, 55), fontsize="medium"
        )


def bands(random: np.random.Generator) -> None:
    """Thirty releases of one mean, the band of one, and the mean without noise."""
    days = load_temperatures()
    hours, plain = days.grid_points, days.values.mean(axis=0)
    _, axis = pyplot.subplots(figsize=(7, 4), layout="constrained")
    mean = PrivateMean(1, bounds=(-10, 40), grid_points=hours, unit="day")
    for _ in range(30):
        release = mean.fit(days.values).release_
        axis.plot(hours, release(hours), color="gray", linewidth=0.5)
    band = release.band(0.95)
    axis.fill_between(band.points, band.lower, band.upper, alpha=0.2, label="95% band of one")
    axis.plot(hours, release(hours), label="that release")
    axis.plot(hours, plain, "k--", label="without noise")
    axis.plot([], [], color="gray", linewidth=0.5, label="other releases")
    axis.set(xlabel="hour of the day", ylabel="degrees Celsius")
    axis.legend(fontsize="small")


def plans(random: np.random.Generator) -> None:
    """The planned error of a mean against the number of units."""
    sizes, epsilons = np.geomspace(100, 100_000, 13).round().astype(int), (0.1, 1.0, 10.0)
    _, axis = pyplot.subplots(figsize=(6.5, 4), layout="constrained")
    for epsilon in epsilons:
        mean = PrivateMean(epsilon, bounds=(0, 1), grid_points=np.linspace(0, 1, 24))
        axis.loglog(sizes, [mean.plan(int(n)).error for n in sizes], ".-", label=f"epsilon {epsilon:g}")
    axis.set(xlabel="units", ylabel="planned error (of the distance of the bounds)")
    axis.legend()


def composition(random: np.random.Generator) -> None:
    """What releases cost together, added up and composed."""
    counts = np.arange(1, 41)
    block = Cost(PureDP("1/4"), BlockLoss(dimension=20, epsilon="1/4"))
    together = [float(compose([block] * int(k), delta="1e-6").epsilon) for k in counts]
    _, axis = pyplot.subplots(figsize=(6.5, 4), layout="constrained")
    axis.plot(counts, counts / 4, "--", label="epsilons added up, delta 0")
    axis.plot(counts, together, label="composed, delta 1e-6")
    axis.set(xlabel="releases of epsilon 1/4, 20 coefficients each", ylabel="epsilon of all together")
    axis.legend()


def bodies(random: np.random.Generator) -> None:
    """Two coordinates of noise, for a box, an ellipsoid and independent Laplace noise."""
    _, axes = pyplot.subplots(1, 3, figsize=(10, 3.6), sharex=True, sharey=True, layout="constrained")
    sides = np.array([2.0, 1.0])
    radius = random.gamma(3, size=(3000, 1))
    circle = random.normal(size=(3000, 2))
    circle *= np.sqrt(random.uniform(size=(3000, 1))) / np.linalg.norm(circle, axis=1, keepdims=True)
    drawn = {
        "box": radius * random.uniform(-1, 1, (3000, 2)),
        "ellipsoid": radius * circle,
        "Laplace noise in each, for the box": 2 * random.laplace(size=(3000, 2)),
    }
    for axis, (title, points) in zip(axes, drawn.items(), strict=True):
        axis.plot(*(points * sides).T, ".", markersize=2, alpha=0.4)
        axis.set(title=title, xlim=(-20, 20), ylim=(-12, 12), aspect="equal")


def ledger(random: np.random.Generator) -> None:
    """What is spent of a budget, release by release; one is refused, and the budget raised."""
    with tempfile.TemporaryDirectory() as folder:
        book = Ledger(Path(folder) / "budget.ledger")
        book.create("scans", PureDP(2), unit="person")
        refused: list[tuple[int, float]] = []
        for place, epsilon in enumerate((0.5, 1, 0.25, 0.75, 0.75)):
            mean = PrivateMean(epsilon, bounds=(0, 1), unit="person", ledger=book.of("scans"))
            try:
                mean.fit(random.uniform(size=(40, 12)))
            except BudgetError:
                refused.append((place, epsilon))
                book.raise_budget("scans", PureDP(3), reason="a second paper")
        rows = [row for row in book.history("scans") if row.action in ("charge", "raise")]
        spent = [float(row.spent["epsilon"]) for row in rows]
        budget = [float(row.budget.amount["epsilon"]) for row in rows]
    _, axis = pyplot.subplots(figsize=(7, 3.6), layout="constrained")
    places = np.arange(1, len(rows) + 1)
    axis.bar(places, spent, width=0.6, alpha=0.5, label="spent")
    axis.step([0.5, *places + 0.5], [budget[0], *budget], "k", label="budget")
    for place, epsilon in refused:
        axis.plot(place + 1, spent[place] + epsilon, "rx", markersize=10, label="asked for, and refused")
    axis.set_xticks(
        places, ["raised" if row.action == "raise" else row.details["summary"] for row in rows]
    )
    axis.set(xlabel="row of the ledger, in order", ylabel="epsilon", ylim=(0, 3.8))
    axis.legend(loc="upper left", fontsize="small")


def custodians(random: np.random.Generator) -> None:
    """One custodian's own release, and one of the sum of three, of a third of the days each."""
    hours, days = demand()
    _, axes = pyplot.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
    for axis, title, held in zip(
        axes, ("one of three custodians by itself", "all three together"), (days[::3], days), strict=True
    ):
        release = PrivateMean(1, bounds=(500, 3500), domain=hours, unit="day").fit(held).release_
        band = release.band(0.95)
        axis.fill_between(band.points, band.lower, band.upper, alpha=0.2, label="95% band")
        axis.plot(band.points, release(band.points), label="released mean")
        axis.plot(hours.grid_points, held.mean(axis=0), "k--", linewidth=1, label="without noise")
        axis.set(title=f"{title}: {len(held)} days", xlabel=hours.labels["domain"])
    axes[0].set_ylabel(hours.labels["value"])
    axes[0].legend(fontsize="small")


def sessions(random: np.random.Generator) -> None:
    """Values of a mean that were asked for one at a time, with their errors, and the mean."""
    hours, days = demand()
    asked = np.array([3, 6, 8, 9, 12, 15, 18, 19, 21, 23.5])
    mean = PrivateMean(
        1, 1e-6, bounds=(500, 3500), domain=hours, unit="day", mechanism="gaussian-process"
    )
    with tempfile.TemporaryDirectory() as folder:
        session = mean.open_session(days, Path(folder) / "demand.session")
        answers = [session.value(hour) for hour in asked]
        errors = [1.96 * answer.standard_error for answer in session.answers()]
        session.close()
    _, axis = pyplot.subplots(figsize=(7, 3.8), layout="constrained")
    axis.plot(hours.grid_points, days.mean(axis=0), "k--", linewidth=1, label="mean without noise")
    axis.errorbar(
        asked, answers, errors, fmt="o", capsize=3, label="answers, with 95% errors of the noise"
    )
    axis.set(xlabel=hours.labels["domain"], ylabel=hours.labels["value"])
    axis.legend(fontsize="small")


def tuning(random: np.random.Generator) -> None:
    """Scores of penalties by cross-validation on public curves."""
    days = load_temperatures()
    penalties = np.geomspace(1e-5, 1, 11)
    candidates = [
        PrivateMean(
            1, bounds=(-10, 40), grid_points=days.grid_points, mechanism=ICLP(penalty=float(penalty))
        )
        for penalty in penalties
    ]
    found = cross_validate(days.values, candidates, data_are_public=True)
    _, axis = pyplot.subplots(figsize=(7, 3.6), layout="constrained")
    axis.loglog(penalties, found.means, "o-")
    axis.plot(penalties[found.index], found.means[found.index], "rs", label="chosen")
    axis.set(xlabel="penalty", ylabel="score (°C² h)")
    axis.legend()


def limits(random: np.random.Generator) -> None:
    """A spike that is narrower than what was measured: the line misses it, and the band holds it."""
    grid = np.linspace(0, 24, 241)
    course = 5 + 2 * np.sin(grid / 24 * 2 * np.pi) + 4 * np.exp(-(((grid - 15) / 0.15) ** 2) / 2)
    curves = course + random.normal(size=(600, 1)) * 0.5
    release = PrivateMean(1, bounds=(0, 12), grid_points=grid).fit(curves).release_
    band = release.band(0.95)
    _, axis = pyplot.subplots(figsize=(7, 3.6), layout="constrained")
    axis.fill_between(band.points, band.lower, band.upper, alpha=0.2, label="95% band")
    axis.plot(band.points, release(band.points), label="released mean")
    axis.plot(grid, curves.mean(axis=0), "k--", linewidth=1, label="without noise")
    axis.set(xlabel="hour of the day", ylabel="value (made up)")
    axis.legend(fontsize="small")


def who_is_protected(random: np.random.Generator) -> None:
    """A mean where the record is protected, and where the person is, who has several."""
    persons, _, curves = scans()
    _, axes = pyplot.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
    for axis, unit, groups in zip(axes, ("scan", "person"), (None, persons), strict=True):
        mean = PrivateMean(3, bounds=(0.2, 0.8), unit=unit).fit(curves, groups=groups)
        band = mean.release_.band(0.95)
        axis.fill_between(band.points, band.lower, band.upper, alpha=0.2, label="95% band")
        axis.plot(band.points, mean.release_(band.points), label="released mean")
        units = len(np.unique(persons)) if unit == "person" else len(curves)
        axis.set(title=f"a {unit} is protected: {units} units", xlabel="place along the tract")
    axes[0].set_ylabel("fractional anisotropy")
    axes[0].legend(fontsize="small")


def large_grids(random: np.random.Generator) -> None:
    """The mean of 2,000 images made of a bump that wanders, without noise and released."""
    down, along = np.meshgrid(*[np.linspace(0, 1, 64)] * 2, indexing="ij")
    places = random.normal(0.5, 0.08, size=(2, 2000, 1, 1))
    images = np.exp(-((down - places[0]) ** 2 + (along - places[1]) ** 2) / 0.02)
    basis = BoxBasis.on_grid("cosine", (64, 64), [(0, 1), (0, 1)])
    release = PrivateMean(1, bounds=(0, 1), basis=basis).fit(images).release_
    _, axes = pyplot.subplots(1, 2, figsize=(7.6, 3.4), layout="constrained")
    shown = {"mean without noise": images.mean(axis=0), "released mean": release.on_grid((64, 64))}
    for axis, (title, image) in zip(axes, shown.items(), strict=True):
        drawn = axis.imshow(image, vmin=0, vmax=0.6, origin="lower", extent=(0, 1, 0, 1))
        axis.set(title=title, xlabel="along the image (share of its width)")
    axes[0].set_ylabel("share of its height")
    pyplot.colorbar(drawn, ax=axes, label="brightness (0 to 1)")


DRAWN = (
    density, quantiles, equality, sparse, reference, default_mean, two_looks, clusters, score_curves,
    synthetic_curves, effects, scalar_on_function, profiles, choosing_epsilon, choosing_bounds,
    reading_a_release, bands,
    plans, composition, bodies, ledger, custodians, sessions, tuning, limits,
    who_is_protected, large_grids,
)  # fmt: skip


def main(folder: str, *names: str) -> None:
    """Draw each by its name, or those named."""
    for draw in DRAWN:
        if not names or draw.__name__ in names:
            draw(np.random.default_rng(3))
            file = Path(folder) / f"{draw.__name__}.png"
            pyplot.gcf().savefig(file, dpi=90, pil_kwargs={"optimize": True})
            pyplot.close("all")


if __name__ == "__main__":
    main(*sys.argv[1:])
