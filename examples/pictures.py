"""Draw the pictures at the head of the pages on single summaries.

Run with: python examples/pictures.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot

from dpfda import (
    Domain,
    PrivateDensity,
    PrivateEqualityTest,
    PrivateMean,
    PrivateQuantiles,
    PrivateReferenceBand,
)
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


def default_mean(random: np.random.Generator) -> None:
    """Days of 2,000 made-up households."""
    hours = np.arange(0, 24, 0.5)
    peaks = np.exp(-(((hours - 8) / 2) ** 2)) + 1.5 * np.exp(-(((hours - 19) / 3) ** 2))
    loads = (0.5 + peaks) * random.gamma(5, 0.2, size=(2000, 1)) + random.normal(0, 0.3, (2000, 48))
    domain = Domain(hours, (0, 24), labels={"domain": "hour of the day", "value": "load (kW)"})
    PrivateMean(1, bounds=(0, 6), domain=domain, unit="household").fit(loads).release_.plot()


def main(folder: str) -> None:
    """Draw each by its name."""
    random = np.random.default_rng(3)
    for draw in (density, quantiles, equality, sparse, reference, default_mean):
        draw(random)
        pyplot.gcf().savefig(Path(folder) / f"{draw.__name__}.png", dpi=90)
        pyplot.close("all")


if __name__ == "__main__":
    main(*sys.argv[1:])
