"""How exact score curves are: areas beside rivals of the same epsilon, and how often bands held.

Run with: python -m benchmarks.score_curves [RELEASES]
Scores are binormal, as calibrated risks or spread evenly, and risks of a logistic regression on the
breast cancer data of scikit-learn, fitted on a half that is taken to be public.
"""

import math
import sys
from collections.abc import Callable

import numpy as np
import scipy
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dpfda import PrivateScoreCurves

People = tuple[np.ndarray, np.ndarray]
CELLS, POINTS = 20, np.linspace(0, 1, 101)


def binormal(
    count: int, area: float, share: float, calibrated: bool, random: np.random.Generator
) -> People:
    """Scores in [0, 1] and outcomes."""
    apart = math.sqrt(2) * scipy.special.ndtri(area)
    ill = random.random(count) < share
    at = random.normal(size=count) + apart * ill
    odds = math.log(share / (1 - share))
    risks = scipy.special.expit(odds + apart * at - apart**2 / 2)
    return (risks if calibrated else scipy.special.ndtr(at - apart / 2)), ill


def breast_cancer() -> People:
    """Risks of cancer on one half, from a regression on five features fitted on the other."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :5]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[::2], y[::2] == 0)
    return model.predict_proba(X[1::2])[:, 1], y[1::2] == 0


def area_of(scores: np.ndarray, ill: np.ndarray) -> float:
    """Mann and Whitney's statistic."""
    ranks, many = scipy.stats.rankdata(scores), int(ill.sum())
    return float((ranks[ill].sum() - many * (many + 1) / 2) / (many * (len(ill) - many)))


def rates(scores: np.ndarray, ill: np.ndarray) -> np.ndarray:
    """The ROC curve of persons at `POINTS`."""
    others = np.append(np.sort(scores[~ill])[::-1], -np.inf)
    allowed = np.floor(POINTS * (others.size - 1) + 1e-9).astype(int)
    found = 1 - np.searchsorted(np.sort(scores[ill]), others[allowed], "right") / ill.sum()
    return np.where(allowed == others.size - 1, 1.0, found)


def histogram(people: People, epsilon: float, random: np.random.Generator) -> float:
    """Rival: Laplace noise on 20 equal cells of either outcome, cut at zero."""
    edges, (scores, ill) = np.linspace(0, 1, CELLS + 1), people
    table = np.array([np.histogram(scores[ill == each], edges)[0] for each in (False, True)])
    table = np.maximum(table + random.laplace(scale=2 / epsilon, size=table.shape), 1e-9)
    below = np.cumsum(table[0]) - table[0] / 2
    return float(table[1] @ below / table.sum(axis=1).prod())


def pairs(people: People, epsilon: float, random: np.random.Generator) -> float:
    """Rival: the number of pairs in order and the number with the outcome, half of epsilon each.

    Of n persons, one is in n - 1 pairs at most; replacing one moves the number with the outcome by 1.
    """
    scores, ill = people
    count, many = len(ill), float(ill.sum())
    ordered = area_of(scores, ill) * many * (count - many)
    ordered += random.laplace(scale=2 * (count - 1) / epsilon)
    many = min(max(many + random.laplace(scale=2 / epsilon), 1.0), count - 1.0)
    return float(np.clip(ordered / (many * (count - many)), 0, 1))


def measure(name: str, draw: Callable[[], People], epsilon: float, releases: int) -> None:
    """Print errors of the area from that of the persons, and what bands held."""
    random, rows, sampled = np.random.default_rng(5), [], []
    for _ in range(releases):
        scores, ill = draw()
        release = PrivateScoreCurves(epsilon, score_bounds=(0, 1)).fit(scores, ill).release_
        area, interval, band = area_of(scores, ill), release.auc_interval(), release.band(points=POINTS)
        sampled.append(area)
        errors = [
            release.auc,
            histogram((scores, ill), epsilon, random),
            pairs((scores, ill), epsilon, random),
        ]
        rows.append(
            [*(np.array(errors) - area) ** 2, interval.lower <= area <= interval.upper,
             band.contains(np.clip(rates(scores, ill), 0, 1)), interval.upper - interval.lower,
             float(np.mean(band.upper - band.lower))]
        )  # fmt: skip
    found = np.mean(rows, axis=0)
    errors = " ".join(f"{math.sqrt(each):.4f}" for each in found[:3])
    held = " ".join(f"{100 * each:.0f}" for each in found[3:5])
    wide = " ".join(f"{each:.3f}" for each in found[5:])
    print(f"{name}: {errors} | sampling {np.std(sampled):.4f} | held {held} | {wide}", flush=True)


def main(releases: int) -> None:
    """All data."""
    random = np.random.default_rng(3)
    cases = [(2000, 0.5, 0.8, True), (2000, 0.3, 0.8, True), (2000, 0.1, 0.8, True),
             (2000, 0.5, 0.8, False), (2000, 0.3, 0.95, False), (2000, 0.1, 0.8, False),
             (500, 0.3, 0.8, True), (10_000, 0.1, 0.8, True)]  # fmt: skip
    for count, share, area, calibrated in cases:
        kind = "risks" if calibrated else "spread"
        name = f"{kind}, n {count}, {share:g} with the outcome, area {area:g}"
        measure(name, lambda c=(count, area, share, calibrated): binormal(*c, random), 1.0, releases)
    people = breast_cancer()
    for epsilon in (1.0, 4.0):
        measure(
            f"breast cancer, n {len(people[1])}, epsilon {epsilon:g}", lambda: people, epsilon, releases
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
