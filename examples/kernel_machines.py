"""How useful private kernel machines are: every solver on public data, against no noise at all.

Run it with:  python examples/kernel_machines.py [FILE.png]   (about two minutes)
With a file name it draws two releases, a disc and a curve, in place of the tables.
The data sets come with scikit-learn; where DPFDA_DATA_DIR names a folder with dti_cca.csv, the nerve
tracts of cases and controls are added. Noise is the real one, from the operating system.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.fft import idctn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dpfda import Domain, PrivateKernelClassifier, PrivateKernelRegressor
from dpfda.records.features import LinearFeatures

SPLITS, FITS = 10, 5
LOUD = 1e6

# Public bounds, from knowledge of the measurements (ranges that a clinician would state).
CANCER_LIMITS = [30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.35, 0.1, 3, 5, 25, 550, 0.035, 0.15, 0.4,
                 0.06, 0.08, 0.03, 40, 50, 260, 4300, 0.25, 1.1, 1.3, 0.3, 0.7, 0.22]  # fmt: skip
DIABETES_LIMITS = [(18, 80), (1, 2), (18, 42), (60, 135), (90, 300), (40, 240), (20, 100), (1.5, 9),
                   (3, 6.2), (55, 125)]  # fmt: skip


def low_waves(side: int, kept: int) -> np.ndarray:
    """The kept x kept slowest cosines on a square of side x side pixels, as columns."""
    columns = []
    for i in range(kept):
        for j in range(kept):
            single = np.zeros((side, side))
            single[i, j] = 1.0
            columns.append(idctn(single, norm="ortho").ravel())
    return np.array(columns).T


def compare(
    name: str, machine: Any, reference: Any, X: np.ndarray, y: np.ndarray, stratify: bool = True
) -> None:
    """Print scores on held-out quarters: private, the same machine without noise, and a usual one."""
    private, silent, usual = [], [], []
    for split in range(SPLITS):
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.25, random_state=split, stratify=y if stratify else None
        )
        for _ in range(FITS):
            fitted = clone(machine).fit(X[train], y[train])
            private.append(fitted.score(X[test], y[test]))
        penalty = fitted.release_.certificate.mechanism["penalty"]
        components = fitted.release_.features.components
        quiet = clone(machine).set_params(epsilon=LOUD, solver__penalty=penalty)
        if not isinstance(machine.features, LinearFeatures):
            quiet.set_params(features__components=components)
        silent.append(quiet.fit(X[train], y[train]).score(X[test], y[test]))
        usual.append(clone(reference).fit(X[train], y[train]).score(X[test], y[test]))
    print(
        f"| {name} | {len(train)} | {np.mean(private):.3f} ({np.std(private):.3f}) "
        f"| {np.mean(silent):.3f} | {np.mean(usual):.3f} |",
        flush=True,
    )


def heading(title: str) -> None:
    """The head of a table."""
    print(f"\n{title}\n\n| data and solver | units | private: mean (sd) | same, no noise | usual |")
    print("|---|---|---|---|---|")


def disc() -> tuple[np.ndarray, np.ndarray]:
    """Simulated: points of a square, inside a disc or not, with a blurred edge."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 2))
    return X, np.where(np.hypot(*X.T) + rng.normal(0, 0.1, 4000) < 0.7, 1, 0)


def wave() -> tuple[np.ndarray, np.ndarray]:
    """Simulated: a curve of two waves with noise."""
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 1, (2000, 1))
    clean = np.sin(2 * np.pi * X[:, 0]) + 0.3 * np.sin(6 * np.pi * X[:, 0])
    return X, clean + rng.normal(0, 0.3, 2000)


def digits() -> None:
    """Even against odd digits, as functions on a square."""
    X, y = load_digits(return_X_y=True)
    y = y % 2
    waves = LinearFeatures.of_curves(low_waves(8, 5) / 16, (0, 16), norm_bound=2.8, center=6.0)
    base = PrivateKernelClassifier(1.0, bounds=(0, 16), classes=(0, 1), features=waves)
    usual = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    heading("Digits, even or odd (accuracy at epsilon = 1)")
    for loss, solver in (
        ("hinge", "objective"),
        ("logistic", "objective"),
        ("hinge", "output"),
        ("squared", "output"),
        ("squared", "sums"),
    ):
        compare(
            f"25 waves, {loss}, {solver}", clone(base).set_params(loss=loss, solver=solver), usual, X, y
        )
    for loss, solver in (("hinge", "output"), ("squared", "sums")):
        made = clone(base).set_params(loss=loss, solver=solver, delta=1e-6)
        compare(f"25 waves, {loss}, {solver}, delta 1e-6", made, usual, X, y)
    pixels = clone(base).set_params(features="linear")
    compare("64 pixels, hinge, objective", pixels, usual, X, y)
    fourier = clone(base).set_params(features="fourier", features__components=100)
    compare("100 Fourier features, hinge, objective", fourier, SVC(C=10), X, y)


def classifiers() -> None:
    """Other classifiers."""
    heading("Other classes (hinge, objective; accuracy at epsilon = 1)")
    X, y = load_breast_cancer(return_X_y=True)
    usual = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    machine = PrivateKernelClassifier(
        1.0,
        bounds=[(0, most) for most in CANCER_LIMITS],
        classes=(0, 1),
        features=LinearFeatures.of_columns(30, norm_bound=2.0),
    )
    compare("breast cancer, 30 columns", machine, usual, X, y)
    X, y = disc()
    machine = PrivateKernelClassifier(1.0, bounds=(-1, 1), classes=(0, 1), features="grid")
    compare("simulated disc, 2 inputs", machine, SVC(), X, y)
    folder = os.environ.get("DPFDA_DATA_DIR")
    if folder is not None:
        tracts(Path(folder))


def tracts(folder: Path) -> None:
    """Cases and controls by the first complete scan of each person."""
    rows = [line.split(",") for line in (folder / "dti_cca.csv").read_text().splitlines()[1:]]
    rows = [row for row in rows if "NA" not in row]
    _, first = np.unique([row[0] for row in rows], return_index=True)
    X = np.array([[float(cell) for cell in rows[i][3:]] for i in first])
    y = np.array([int(rows[i][2]) for i in first])
    waves = np.cos(np.pi * np.arange(3)[None, :] * (np.arange(93)[:, None] + 0.5) / 93) / 93
    features = LinearFeatures.of_curves(waves, (0, 1), norm_bound=0.3, center=0.55, constant=0.1)
    for epsilon in (1, 8):
        machine = PrivateKernelClassifier(epsilon, bounds=(0, 1), classes=(0, 1), features=features)
        compare(f"nerve tracts, cases, epsilon {epsilon}", machine, SVC(), X, y)


def regressions() -> None:
    """Regression functions."""
    heading("Regression (share of variance explained at epsilon = 1)")
    X, y = load_diabetes(return_X_y=True, scaled=False)
    columns = LinearFeatures.of_columns(10, norm_bound=2.0)
    base = PrivateKernelRegressor(1.0, bounds=DIABETES_LIMITS, target_bounds=(0, 350), features=columns)
    usual: Any = make_pipeline(StandardScaler(), Ridge())
    ways: tuple[tuple[str, str], ...] = (
        ("huber", "objective"),
        ("squared", "sums"),
        ("squared", "output"),
    )
    for loss, solver in ways:
        made = clone(base).set_params(loss=loss, solver=solver)
        compare(f"diabetes, {loss}, {solver}", made, usual, X, y, False)
    X, y = wave()
    base = PrivateKernelRegressor(1.0, bounds=(0, 1), target_bounds=(-2, 2))
    for loss, solver in ways:
        made = clone(base).set_params(loss=loss, solver=solver)
        usual = KernelRidge(kernel="rbf", gamma=50, alpha=0.1)
        compare(f"simulated curve, {loss}, {solver}", made, usual, X, y, False)


def picture(path: str) -> None:
    """One release of a decision function of two inputs, one of a curve, both at epsilon = 1."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.7), layout="constrained")
    X, y = disc()
    labels = {"domain": "first input, second input"}
    PrivateKernelClassifier(
        1.0, bounds=(-1, 1), classes=("outside", "inside"), domain=Domain(labels=labels)
    ).fit(X, np.array(["outside", "inside"])[y]).release_.plot(left)
    around = np.linspace(0, 2 * np.pi, 200)
    left.plot(0.7 * np.cos(around), 0.7 * np.sin(around), "--", color="black", label="true edge")
    left.legend(loc="upper right", fontsize="small")
    left.set_aspect("equal")
    X, y = wave()
    labels = {"domain": "input", "value": "target"}
    machine = PrivateKernelRegressor(
        1.0, bounds=(0, 1), target_bounds=(-2, 2), domain=Domain(labels=labels)
    )
    machine.fit(X, y).release_.plot(right)
    at = np.linspace(0, 1, 300)
    right.plot(
        at, np.sin(2 * np.pi * at) + 0.3 * np.sin(6 * np.pi * at), "--", color="black", label="truth"
    )
    right.plot(
        X[::5, 0], y[::5], ".", color="0.8", markersize=3, zorder=0, label="a fifth of the records"
    )
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2, fontsize="small")
    figure.savefig(path, dpi=110)


PARTS: tuple[Callable[[], None], ...] = (digits, classifiers, regressions)

if __name__ == "__main__":
    if len(sys.argv) > 1:
        picture(sys.argv[1])
    else:
        for part in PARTS:
            part()
