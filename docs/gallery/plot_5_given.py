"""
A density given a covariate
===========================

Progression of diabetes after a year at three values of the body mass index (scikit-learn, 442
patients), from one joint density. You may ask for any other value too, at no further cost.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from dpfda import Domain, PrivateDensity

data = load_diabetes(scaled=False)
both = np.column_stack([data.data[:, 2], data.target])
domain = Domain(
    domain_range=[(17, 43), (0, 360)],
    labels={"domain": "body mass index", "domain_2": "progression after one year"},
)
density = PrivateDensity(epsilon=2, domain=domain, cells=(6, 12), unit="patient")
release = density.fit(both).release_

# %%
# Each curve with its band for the privacy noise, which is never below zero.

figure, axis = plt.subplots(layout="constrained")
for index in (22, 27, 32):
    given = release.conditional(index)
    band = given.band(0.95)
    axis.plot(band.points, given(band.points), label=f"body mass index {index}")
    axis.fill_between(band.points, band.lower, band.upper, alpha=0.2)
axis.set_xlabel("progression after one year (score)")
axis.set_ylabel("density (per point of the score)")
axis.set_title("Progression of diabetes given the body mass index, 442 patients, epsilon = 2")
axis.legend()
plt.show()

# %%
# The released median and nine tenths, beside those of patients whose index is within 1.5:

for index in (22, 27, 32):
    near = data.target[np.abs(both[:, 0] - index) < 1.5]
    print(index, release.conditional(index).quantile([0.5, 0.9]).round(), np.quantile(near, [0.5, 0.9]))
