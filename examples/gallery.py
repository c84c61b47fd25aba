"""Every summary in one picture, each released with epsilon 1 from data that are public.

Run with: python examples/gallery.py [FILE.png]
"""

import sys

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from dpfda import (
    Domain,
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFPCA,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateMean,
)
from dpfda.bases import BoxBasis
from dpfda.covariance.strategies import Center
from dpfda.datasets import load_temperatures

TEMPERATURES = load_temperatures()
HOURS = {"domain": "hour of the day", "value": "temperature (deg C)"}
HOUR = Domain(TEMPERATURES.grid_points, labels=HOURS)
DAYS = {"bounds": (-10.0, 40.0), "domain": HOUR, "unit": "day"}


def draw_mean(axis):
    """Mean day: a curve with its band."""
    mean = PrivateMean(epsilon=1.0, **DAYS).fit(TEMPERATURES.values)
    mean.release_.plot(ax=axis)
    axis.set_title("mean of 364 days", fontsize="medium")


def draw_comparison(axis):
    """Mean days of two halves of the year; a day is in one of them, so epsilon is spent once."""
    summer = np.isin(np.arange(364) // 91, (1, 2))
    names = np.where(summer, "April to September", "October to March")
    compared = PrivateComparison(epsilon=1.0, levels=("April to September", "October to March"), **DAYS)
    compared.fit(TEMPERATURES.values, names).release_.plot(ax=axis)
    axis.set_title("two groups of 182 days", fontsize="medium")


def draw_covariance(axis):
    """How the hours of a day vary together."""
    estimate = PrivateCovariance(epsilon=1.0, center=Center(12.0, radius=60.0), **DAYS).fit(
        TEMPERATURES.values
    )
    estimate.release_.plot(ax=axis)
    axis.set_title("covariance of 364 days", fontsize="medium")


def draw_components(axis):
    """In which ways days differ most."""
    shape = PrivateFPCA(1.0, n_components=1, center=Center(12.0, radius=60.0), **DAYS).fit(
        TEMPERATURES.values
    )
    hours = np.linspace(0, 23, 200)
    axis.plot(hours, shape.release_.function(0)(hours), label="released eigenfunction")
    axis.set_xlabel(HOURS["domain"])
    axis.set_ylabel("first eigenfunction (length one)")
    axis.legend(fontsize="small")
    axis.set_title("principal component of 364 days", fontsize="medium")


def draw_density(axis):
    """Distribution of one number a day."""
    afternoons = TEMPERATURES.values[:, 15]
    labels = {"domain": "temperature at 15:00 (degrees Celsius)", "value": "density (per degree)"}
    density = PrivateDensity(
        epsilon=1.0, domain=Domain(domain_range=(-10, 40), labels=labels), unit="day"
    )
    axis.hist(afternoons, bins=25, density=True, color="0.8", label="without noise", zorder=0)
    density.fit(afternoons).release_.plot(ax=axis)
    # Room for the legend above the highest bar.
    axis.set_ylim(top=0.17)
    axis.set_title("density of 364 afternoons", fontsize="medium")


def draw_image(axis):
    """Mean of images: a function on a square."""
    digits = load_digits()
    square = BoxBasis.on_grid("cosine", (8, 8), [(0, 8), (0, 8)], length_scale=2.0)
    labels = {"value": "ink (0 to 16)"}
    mean = PrivateMean(
        epsilon=1.0, bounds=(0, 16), basis=square, unit="image", domain=Domain(labels=labels)
    )
    mean.fit(digits.images).release_.plot(ax=axis)
    axis.set(xlabel="column (pixels)", ylabel="row (pixels)")
    axis.set_title("mean of 1797 handwritten digits", fontsize="medium")


def draw_regression(axis):
    """Progression of a disease against body mass index."""
    data = load_diabetes(scaled=False)
    labels = {"domain": "body mass index (kg/m^2)", "value": "progression of diabetes (score)"}
    model = PrivateKernelRegressor(
        epsilon=1.0,
        bounds=(15, 45),
        target_bounds=(0, 350),
        unit="patient",
        domain=Domain(labels=labels),
    )
    index = data.data[:, [2]]
    model.fit(index, data.target).release_.plot(ax=axis)
    axis.plot(index[:, 0], data.target, ".", color="0.8", markersize=3, zorder=0)
    axis.set_title("regression on 442 patients", fontsize="medium")


def draw_classifier(axis):
    """Two kinds of tumour told apart by two measurements."""
    data = load_breast_cancer()
    labels = {"domain": "mean radius, mean texture"}
    model = PrivateKernelClassifier(
        epsilon=1.0,
        bounds=[(5, 30), (5, 40)],
        classes=(0, 1),
        unit="patient",
        domain=Domain(labels=labels),
    )
    pair = data.data[:, :2]
    release = model.fit(pair, data.target).release_
    release.plot(ax=axis)
    axis.set_title(
        f"classifier of 569 tumours: {model.score(pair, data.target):.0%} right", fontsize="medium"
    )


DRAWINGS = (
    draw_mean,
    draw_comparison,
    draw_covariance,
    draw_components,
    draw_density,
    draw_image,
    draw_regression,
    draw_classifier,
)


def main(path="gallery.png"):
    """Draw all and save the picture."""
    figure, axes = plt.subplots(2, 4, figsize=(20, 9), layout="constrained")
    for draw, axis in zip(DRAWINGS, axes.ravel(), strict=True):
        draw(axis)
        print(f"{draw.__name__}: {draw.__doc__}", flush=True)
    figure.suptitle("Each function is released under pure differential privacy with epsilon = 1")
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    main(*sys.argv[1:])
