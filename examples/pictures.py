"""Draw the pictures at the head of the pages on single summaries.

Run with: python examples/pictures.py FOLDER
Those of effects, of profiles and of a number explained by a curve are drawn where DPFDA_DATA_DIR names a
folder with dti_cca.csv, adelaide_monday_demand.csv and atlas/berkeley_growth.csv.
"""

import os
import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot

from dpfda import (
    Domain,
    PrivateComparison,
    PrivateCurveClusters,
    PrivateDensity,
    PrivateEqualityTest,
    PrivateFunctionalRegression,
    PrivateMean,
    PrivateQuantiles,
    PrivateReferenceBand,
    PrivateScalarOnFunction,
    PrivateScoreCurves,
)
from dpfda.mean.two_looks import TwoLooks
from dpfda.records import LongCurves


def density(random: np.random.Generator) -> None:
    """Ages of 3,000 made-up people."""
    ages = np.concatenate([random.normal(32, 8, 1800), random.normal(68, 9, 1200)]).clip(18, 95)
    labels = {"domain": "age (years)", "value": "density (per year)"}
    PrivateDensity(1, domain=Domain(domain_range=(18, 95), labels=labels)).fit(ages).release_.plot()


def quantiles(random: np.random.Generator) -> None:
    """Quartiles of ages in whole years."""
    ages = random.integers(18, 90, size=3000)
    labels = {"domain": "age (years)"}
    domain = Domain(domain_range=(0, 105), step=1, labels=labels)
    PrivateQuantiles(1, levels=(0.25, 0.5, 0.75), domain=domain).fit(ages).release_.plot()


def equality(random: np.random.Generator) -> None:
    """Two groups of curves that differ in level."""
    curves = 0.5 + 0.1 * np.sin(np.linspace(0, 6, 50)) + random.normal(0, 0.08, (400, 1))
    case = np.arange(400) % 2
    test = PrivateEqualityTest(1, bounds=(0.2, 0.9)).fit(curves + 0.06 * case[:, None], case)
    test.release_.plot()


def sparse(random: np.random.Generator) -> None:
    """Weights of 2,000 made-up people, three visits each."""
    person, week = np.repeat(np.arange(2000), 3), random.uniform(0, 52, 6000)
    weight = 80 - 0.1 * week + random.normal(0, 9, 2000)[person]
    labels = {"domain": "week", "value": "weight (kg)"}
    mean = PrivateMean(
        1, bounds=(40, 140), domain=Domain(domain_range=(0, 52), labels=labels), unit="person"
    )
    mean.fit(LongCurves(person, week, weight)).release_.plot()


def reference(random: np.random.Generator) -> None:
    """Usual days of 2,000 made-up households."""
    hours = np.linspace(0, 24, 48)
    loads = 2 + np.sin(hours / 4) + random.normal(size=(2000, 1)) * 0.4
    labels = {"domain": "hour of the day", "value": "load (kW)"}
    domain = Domain(hours, labels=labels)
    PrivateReferenceBand(1, bounds=(0, 6), domain=domain, unit="household").fit(loads).release_.plot()


def clusters(random: np.random.Generator) -> None:
    """Days of 3,000 made-up homes, with peaks at three hours."""
    hours = np.linspace(0, 24, 48)
    peak = random.choice([7, 13, 20], size=(3000, 1), p=[0.5, 0.3, 0.2])
    peak = peak + 0.5 * random.normal(size=(3000, 1))
    loads = 1 + 2 * np.exp(-(((hours - peak) / 3) ** 2)) + 0.2 * random.normal(size=(3000, 1))
    domain = Domain(hours, labels={"domain": "hour of the day", "value": "load (kW)"})
    PrivateCurveClusters(1, bounds=(0, 5), domain=domain, unit="home").fit(loads).release_.plot()


def default_mean(random: np.random.Generator) -> None:
    """Days of 2,000 made-up households."""
    hours = np.arange(0, 24, 0.5)
    peaks = np.exp(-(((hours - 8) / 2) ** 2)) + 1.5 * np.exp(-(((hours - 19) / 3) ** 2))
    loads = (0.5 + peaks) * random.gamma(5, 0.2, size=(2000, 1)) + random.normal(0, 0.3, (2000, 48))
    domain = Domain(hours, (0, 24), labels={"domain": "hour of the day", "value": "load (kW)"})
    PrivateMean(1, bounds=(0, 6), domain=domain, unit="household").fit(loads).release_.plot()


def two_looks(random: np.random.Generator) -> None:
    """Days of 40,000 made-up rooms with one look, and with two."""
    hours = np.arange(0, 24, 0.5)
    rooms = 18 + 0.5 * np.sin(hours / 4) + random.normal(0, 0.5, (40_000, 1))
    domain = Domain(hours, (0, 24), labels={"domain": "hour of the day", "value": "temperature"})
    _, axes = pyplot.subplots(1, 2, figsize=(10, 4.5), sharey=True)
    for axis, looks in zip(axes, ("one", "two"), strict=True):
        mechanism = TwoLooks() if looks == "two" else "auto"
        mean = PrivateMean(1, bounds=(-30, 50), domain=domain, mechanism=mechanism, unit="room")
        mean.fit(rooms).release_.plot(axis).set_title(f"looks: {looks}")


def score_curves(random: np.random.Generator) -> None:
    """Risks of 5,000 made-up patients, too high where they are low, and too low where they are high."""
    risks = random.beta(1.5, 4, size=5000)
    died = random.random(5000) < np.minimum(1, 0.6 * risks + 0.9 * risks**2)
    PrivateScoreCurves(1, score_bounds=(0, 1), unit="patient").fit(risks, died).release_.plot()


def effects(random: np.random.Generator) -> None:
    """Scans of patients and others along a nerve tract, and least squares without noise."""
    rows = np.genfromtxt(
        Path(os.environ["DPFDA_DATA_DIR"]) / "dti_cca.csv", delimiter=",", skip_header=1
    )
    rows = rows[np.isfinite(rows).all(axis=1)]
    person, case, scans = rows[:, 0], rows[:, 2].astype(int).astype(str), rows[:, 3:]
    known = {"case": ["0", "1"]}
    model = PrivateFunctionalRegression(4, bounds=(0, 1), covariates=known, unit="person")
    release = model.fit(scans, {"case": case}, groups=person).release_
    _, who, scans_of = np.unique(person, return_inverse=True, return_counts=True)
    chosen = [(case == k) / scans_of[who] for k in ("0", "1")]
    plain = [weights @ scans / weights.sum() for weights in chosen]
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
    file = Path(os.environ["DPFDA_DATA_DIR"]) / "atlas" / "berkeley_growth.csv"
    ages, *heights = np.genfromtxt(file, delimiter=",")
    apart = np.array(heights) - np.mean(heights, axis=0)
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
    file = Path(os.environ["DPFDA_DATA_DIR"]) / "adelaide_monday_demand.csv"
    demand = np.genfromtxt(file, delimiter=",", skip_header=1)
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


def main(folder: str) -> None:
    """Draw each by its name."""
    random = np.random.default_rng(3)
    drawn = [
        density,
        quantiles,
        equality,
        sparse,
        reference,
        default_mean,
        two_looks,
        clusters,
        score_curves,
    ]
    for draw in drawn + [effects, scalar_on_function, profiles] * ("DPFDA_DATA_DIR" in os.environ):
        draw(random)
        pyplot.gcf().savefig(Path(folder) / f"{draw.__name__}.png", dpi=90)
        pyplot.close("all")


if __name__ == "__main__":
    main(*sys.argv[1:])
