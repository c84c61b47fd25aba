"""What plans foretell beside what releases do, for every summary, on real curves and made-up ones.

Run with: python benchmarks/plans.py [--kind NAME ...] [--half choose|tell] [--releases 4] [--out FILE]
DPFDA_DATA_DIR names a folder that holds atlas/atlas.csv and a CSV a set; without it Gaussian processes
alone are measured. Every other set by name, and every other process, is for choosing constants; the rest
is for telling how good they are. Noise is the operating system's, as for users: figures vary by a few
hundredths. A row has the planned error and half-width, those of releases, and whether a release at the
least epsilon for an error or a band that is wanted keeps to it.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dpfda

Floats = Any
Row = dict[str, Any]
SETTINGS = ((300, 1.0), (5000, 1.0))
LEVEL, LARGE, WORST = 0.95, 1e5, 1.6
PROCESSES = [
    (rough, length, size) for rough in (0.5, 1.5, 2.5) for length in (0.1, 0.4) for size in (0.05, 0.15)
]
POINTS = 48


@dataclass(frozen=True)
class CurveSet:
    """Curves (k, T) between public bounds; which half it is in."""

    name: str
    half: str
    curves: Floats
    low: float
    high: float

    def generator(self, *purpose: object) -> np.random.Generator:
        words = " ".join(map(str, (self.name, *purpose)))
        return np.random.default_rng([33, zlib.crc32(words.encode())])

    def sample(self, n: int, *purpose: object) -> Floats:
        chosen = self.generator("curves", n, *purpose).integers(0, len(self.curves), n)
        return np.clip(self.curves[chosen], self.low, self.high)


def curve_sets(half: str | None) -> list[CurveSet]:
    """Real sets, if there are any, then processes."""
    found, folder = list[CurveSet](), Path(os.environ.get("DPFDA_DATA_DIR", "")) / "atlas"
    listed = folder / "atlas.csv"
    if listed.is_file():
        with listed.open(encoding="utf-8") as handle:
            rows = sorted(csv.DictReader(handle), key=lambda row: row["name"])
        for place, row in enumerate(rows):
            curves = np.loadtxt(folder / f"{row['name']}.csv", delimiter=",")[1:]
            ends = float(row["lo"]), float(row["hi"])
            found.append(CurveSet(row["name"], ("choose", "tell")[place % 2], curves, *ends))
    found += [process(place, *each) for place, each in enumerate(PROCESSES)]
    return [each for each in found if half in (None, each.half)]


def process(place: int, rough: float, length: float, size: float) -> CurveSet:
    """A Gaussian process around a mean that is one itself, bounds from 0 to 1."""
    from sklearn.gaussian_process.kernels import Matern

    at = np.linspace(0, 1, POINTS)[:, None]
    root = np.linalg.cholesky(Matern(length, nu=rough)(at) + 1e-10 * np.eye(POINTS))
    generator = np.random.default_rng([33, place])
    mean = generator.uniform(0.3, 0.7) + size * (root @ generator.standard_normal(POINTS))
    curves = mean + size * generator.standard_normal((400, POINTS)) @ root.T
    return CurveSet(
        f"process {rough}, {length}, {size}", ("choose", "tell")[place % 2], curves, 0.0, 1.0
    )


@dataclass(frozen=True)
class Case:
    """A summary of one set: its estimator at an epsilon, its plan, and what its releases are about."""

    name: str
    half: str
    n: int
    epsilon: float
    estimator: Callable[[float], Any]
    plan: Callable[[Any], Any]
    fit: Callable[[Any], Any]
    # What releases are compared with, and their values there: None where they are with each other.
    values: Callable[[Any], Floats]
    truth: Floats | None
    width: Callable[[Any], float]

    def error(self, released: list[Any]) -> float:
        found = np.array([self.values(each) for each in released])
        if self.truth is not None:
            return float(np.sqrt(np.mean((found - self.truth) ** 2)))
        return float(np.sqrt(np.mean(np.var(found, axis=0, ddof=1))))

    def releases(self, epsilon: float, count: int) -> list[Any]:
        made = self.estimator(epsilon)
        return [self.fit(made) for _ in range(count)]

    def row(self, releases: int, targets: bool) -> Row:
        plan = self.plan(self.estimator(self.epsilon))
        made = self.releases(self.epsilon, releases)
        row: Row = {"set": self.name, "half": self.half, "n": self.n, "epsilon": self.epsilon}
        row |= {"planned": plan.error, "error": self.error(made), "planned_band": plan.band(LEVEL)}
        row["band"] = float(np.mean([self.width(each) for each in made]))
        if targets:
            row |= self.reached(plan)
        return row

    def reached(self, plan: Any) -> Row:
        """Whether one release at the least epsilon for what is planned here keeps to it."""
        found: Row = {}
        if plan.error is not None:
            made = self.releases(
                plan.least_epsilon(error=plan.error), 1 if self.truth is not None else 2
            )
            found["error_reached"] = self.error(made) <= plan.error
        if (band := plan.band(LEVEL)) is not None:
            made = self.releases(plan.least_epsilon(band=band), 1)
            found["band_reached"] = self.width(made[0]) <= band
        return found


def band_width(release: Any) -> float:
    band = release.band(LEVEL)
    return float(np.mean(band.upper - band.lower)) / 2


def grid(curves: CurveSet) -> Floats:
    return np.linspace(0, 1, curves.curves.shape[1])


def mean_case(s: CurveSet, n: int, epsilon: float) -> Case:
    data, at = s.sample(n), grid(s)
    return Case(
        s.name, s.half, n, epsilon,
        lambda e: dpfda.PrivateMean(e, bounds=(s.low, s.high)), lambda m: m.plan(n, at.size),
        lambda m: m.fit(data).release_, lambda r: r(at), data.mean(axis=0), band_width,
    )  # fmt: skip


def vector_case(s: CurveSet, n: int, epsilon: float) -> Case:
    data, at = s.sample(n), grid(s)
    both = np.stack([data, data[:, ::-1]], axis=2)

    def values(release: Any) -> Floats:
        return np.hypot(*(release[name](at) - both[:, :, j].mean(axis=0) for j, name in enumerate("ab")))

    def width(release: Any) -> float:
        bands = release.bands(LEVEL).values()
        return max(float(np.mean(each.upper - each.lower)) / 2 for each in bands)

    return Case(
        s.name, s.half, n, epsilon,
        lambda e: dpfda.PrivateVectorMean(e, bounds=(s.low, s.high), channels=["a", "b"]),
        lambda m: m.plan(n, at.size), lambda m: m.fit(both).release_, values, np.zeros(at.size), width,
    )  # fmt: skip


def comparison_case(s: CurveSet, n: int, epsilon: float) -> Case:
    data, at = s.sample(n), grid(s)
    groups = np.where(np.arange(n) % 2, "a", "b")
    truth = np.array([data[groups == name].mean(axis=0) for name in "ab"])
    return Case(
        s.name, s.half, n, epsilon,
        lambda e: dpfda.PrivateComparison(e, bounds=(s.low, s.high), levels=["a", "b"]),
        lambda m: m.plan(n, at.size),
        lambda m: m.fit(data, groups).release_,
        lambda r: np.array([r[name](at) for name in "ab"]), truth,
        lambda r: max(band_width(r[name]) for name in "ab"),
    )  # fmt: skip


def covariance_case(s: CurveSet, n: int, epsilon: float) -> Case:
    data, at = s.sample(n), grid(s)
    made: Callable[[float], Any] = lambda e: dpfda.PrivateCovariance(e, bounds=(s.low, s.high))  # noqa: E731
    first, second = (each.ravel() for each in np.meshgrid(at, at))
    truth = np.cov(data.T, bias=True).ravel()
    # What is foretold is for a deviation of .06 of the range.
    scale = (0.06 * (s.high - s.low)) ** 2 / float(np.mean(data.var(axis=0)))
    return Case(
        s.name, s.half, n, epsilon, made, lambda m: m.plan(n, at.size), lambda m: m.fit(data).release_,
        lambda r: r(first, second) * scale, truth * scale, lambda r: band_width(r) * scale,
    )  # fmt: skip


def effects_case(s: CurveSet, n: int, epsilon: float) -> Case:
    at, data = grid(s), s.sample(n)
    age = s.generator("age").uniform(20, 80, n)
    wave = (s.high - s.low) * 0.1 * np.sin(2 * np.pi * at)
    data = np.clip(data + ((age - 50) / 30)[:, None] * wave, s.low, s.high)
    covariate = {"age": (20.0, 80.0)}
    design = np.column_stack([np.ones(n), (age - 50) / 30])
    known = np.linalg.lstsq(design, data, rcond=None)[0]
    ends = np.array([[1, -1], [1, 1]]) @ known
    frame = {"age": age}
    return Case(
        s.name, s.half, n, epsilon,
        lambda e: dpfda.PrivateFunctionalRegression(e, bounds=(s.low, s.high), covariates=covariate),
        lambda m: m.plan(n, at.size), lambda m: m.fit(data, frame).release_,
        lambda r: np.array([r.at(age=end)(at) for end in (20.0, 80.0)]), ends,
        lambda r: float(np.mean([band_width(each) for each in r.shown.values()])),
    )  # fmt: skip


def density_case(s: CurveSet, n: int, epsilon: float) -> Case:
    points = s.generator("points", n).choice(np.clip(s.curves, s.low, s.high).ravel(), n)
    at = np.linspace(s.low, s.high, 401)
    width = 0.02 * (s.high - s.low)
    points = points + s.generator("jitter").normal(0, width, n)
    points = np.clip(s.low + np.abs(points - s.low), None, s.high)
    points = np.where(points == s.high, s.high - np.abs(s.generator("end").normal(0, width, n)), points)

    def made(e: float) -> Any:
        return dpfda.PrivateDensity(e, domain=(s.low, s.high))

    # What an unlimited budget would publish.
    exact = made(LARGE).fit(points).release_
    return Case(
        s.name, s.half, n, epsilon, made, lambda m: m.plan(n), lambda m: m.fit(points).release_,
        lambda r: r(at), exact(at), band_width,
    )  # fmt: skip


def kaplan_meier(time: Floats, event: Floats, at: Floats) -> Floats:
    order = np.argsort(time)
    time, event = time[order], event[order]
    distinct, first = np.unique(time, return_index=True)
    died = np.add.reduceat(event.astype(float), first)
    left = np.cumprod(1 - died / (len(time) - first))
    return np.append(1.0, left)[np.searchsorted(distinct, at, side="right")]


def follow_ups(n: int, epsilon: float, half: str | None) -> Iterator[Case]:
    for place, (name, time, event, top) in enumerate(life_sets(n)):
        kind = ("choose", "tell")[place % 2]
        if half in (None, kind):
            yield survival_case(name, kind, time, event, top, epsilon)


def life_sets(n: int) -> Iterator[tuple[str, Floats, Floats, float]]:
    """Follow-ups of lifelines, as many as there are; and made-up ones."""
    try:
        from lifelines import datasets
    except ImportError:
        datasets = None
    known = {
        "lung": ("time", "status", 1100), "regression_dataset": ("T", "E", 30),
        "rossi": ("week", "arrest", 52), "gbsg2": ("time", "cens", 2800),
        "kidney_transplant": ("time", "death", 3650),
        "canadian_senators": ("diff_days", "observed", 16000),
        "dd": ("duration", "observed", 50), "waltons": ("T", "E", 80), "larynx": ("time", "death", 12),
        "leukemia": ("t", "status", 36), "multicenter_aids_cohort_study": ("T", "D", 10),
        "stanford_heart_transplants": ("stop", "event", 1800), "lymphoma": ("Time", "Censor", 13),
        "psychiatric_patients": ("T", "C", 41), "diabetes": None, "g3": ("time", "event", 120),
    }  # fmt: skip
    for name, columns in known.items() if n == SETTINGS[0][0] else ():
        if datasets is None or columns is None:
            continue
        try:
            data = getattr(datasets, f"load_{name}")()
            time, event = (data[each].to_numpy(float) for each in columns[:2])
        except (AttributeError, KeyError, ValueError):
            continue
        if len(time) >= 100 and set(np.unique(event)) <= {0.0, 1.0}:
            yield name, np.maximum(time, 0.0), event, float(columns[2])
    shapes = [(k, m, c) for k in (0.6, 1.0, 2.0) for m in (0.3, 1.0) for c in ("none", "even", "late")]
    for place, (shape, mean, how) in enumerate(shapes):
        generator = np.random.default_rng([33, place, n])
        died = mean * generator.weibull(shape, n)
        left = {
            "none": np.full(n, 9.0),
            "even": generator.uniform(0, 1.5, n),
            "late": generator.uniform(0.5, 1, n),
        }
        time = np.minimum(died, left[how])
        yield f"weibull {shape}, {mean}, {how}", time, (died <= left[how]).astype(float), 1.0


def survival_case(name: str, half: str, time: Floats, event: Floats, top: float, epsilon: float) -> Case:
    at = np.linspace(0, min(top, time.max()), 400)
    return Case(
        name, half, len(time), epsilon,
        lambda e: dpfda.PrivateSurvival(e, domain=(0, top)), lambda m: m.plan(len(time)),
        lambda m: m.fit(time, event.astype(int)).release_, lambda r: r(at),
        kaplan_meier(time, event, at), band_width,
    )  # fmt: skip


def machine_case(s: CurveSet, n: int, epsilon: float, classes: bool) -> Case:
    generator, at = s.generator("examples", n), np.linspace(0, 1, 100)[:, None]
    places = generator.integers(0, s.curves.shape[1], n)
    inputs = (places / (s.curves.shape[1] - 1))[:, None]
    targets = np.clip(s.curves, s.low, s.high)[generator.integers(0, len(s.curves), n), places]
    middle = float(np.median(targets))
    if classes:
        targets = (targets > middle).astype(int)

    def made(e: float) -> Any:
        if classes:
            return dpfda.PrivateKernelClassifier(e, bounds=(0, 1), classes=[0, 1])
        return dpfda.PrivateKernelRegressor(e, bounds=(0, 1), target_bounds=(s.low, s.high))

    whole = np.clip(s.curves, s.low, s.high)
    # At inputs that records have; the middle of the same targets for all.
    seen = np.linspace(0, 1, s.curves.shape[1])[:, None]
    truth = (whole > middle).mean(axis=0) if classes else whole.mean(axis=0)

    def width(release: Any) -> float:
        band = release.band(LEVEL, points=at)
        return float(np.mean(band.upper - band.lower)) / 2

    return Case(
        s.name, s.half, n, epsilon, made, lambda m: m.plan(n), lambda m: m.fit(inputs, targets).release_,
        lambda r: r(seen), truth, width,
    )  # fmt: skip


KINDS: dict[str, Any] = {
    "mean": mean_case,
    "vector": vector_case,
    "comparison": comparison_case,
    "density": density_case,
    "covariance": covariance_case,
    "survival": None,
    "effects": effects_case,
    "regression": lambda *given: machine_case(*given, classes=False),
    "classification": lambda *given: machine_case(*given, classes=True),
}


def cases(kind: str, half: str | None) -> Iterator[Case]:
    for n, epsilon in SETTINGS:
        if kind == "survival":
            yield from follow_ups(n, epsilon, half)
        else:
            for each in curve_sets(half):
                yield KINDS[kind](each, n, epsilon)


def summary(rows: list[Row]) -> dict[str, str]:
    """Found over planned: geometric mean, tenth and ninetieth of a hundred, share above 1.6."""
    told = {}
    for name, planned, found in (("error", "planned", "error"), ("band", "planned_band", "band")):
        ratios = [row[found] / row[planned] for row in rows if row[planned] and row[found] > 0]
        if ratios:
            low, high = np.quantile(ratios, [0.1, 0.9])
            told[name] = (
                f"{np.exp(np.mean(np.log(ratios))):.2f} ({low:.2f} to {high:.2f}), "
                f"{np.mean(np.array(ratios) > WORST):.0%} above {WORST:g}"
            )
        kept = [row[f"{name}_reached"] for row in rows if f"{name}_reached" in row]
        if kept:
            told[f"{name} reached"] = f"{np.mean(kept):.0%} of {len(kept)}"
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", nargs="*", default=[*KINDS], choices=[*KINDS])
    parser.add_argument("--half", choices=["choose", "tell"])
    parser.add_argument("--releases", type=int, default=4)
    parser.add_argument("--targets", action="store_true")
    parser.add_argument("--every", type=int, default=1, help="Take every so many of the sets.")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for kind in given.kind:
        rows = [
            {"kind": kind, **case.row(given.releases, given.targets)}
            for case in list(cases(kind, given.half))[:: given.every]
        ]
        for n, epsilon in SETTINGS:
            part = rows if kind == "survival" else [row for row in rows if row["n"] == n]
            sys.stdout.write(f"{kind} n {n} epsilon {epsilon:g}: {summary(part)}\n")
            if kind == "survival":
                break
        sys.stdout.flush()
        lines += rows
    if given.out is not None:
        names = [*dict.fromkeys(name for row in lines for name in row)]
        with given.out.open("w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, names)
            writer.writeheader()
            writer.writerows(lines)


if __name__ == "__main__":
    main()
