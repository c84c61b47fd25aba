"""
A growth chart
==============

Centiles of height from one to eighteen years, for children measured once or twice each. They are the 93
of the Berkeley growth study, from ``atlas/berkeley_growth.csv`` in the folder that ``DPFDA_DATA_DIR``
names, and 7,907 made-up children between two of these, to have enough. The release protects a person.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from dpfda import Domain, PrivateQuantileCurves
from dpfda.records import LongCurves

table = np.genfromtxt(
    Path(os.environ["DPFDA_DATA_DIR"]) / "atlas" / "berkeley_growth.csv", delimiter=","
)
ages, study = table[0], table[1:]

random = np.random.default_rng(1)
first, second = random.integers(0, len(study), (2, 7907))
share = random.uniform(size=(7907, 1))
children = np.concatenate([study, share * study[first] + (1 - share) * study[second]])

# One visit, and a second one for half of the children.
child = np.concatenate([np.arange(8000), np.arange(0, 8000, 2)])
visit = random.integers(0, ages.size, child.size)
visits = LongCurves(np.arange(child.size), ages[visit], children[child, visit], child)

# %%
# The bounds are public curves, two straight lines, from what is known of growth.

lower, upper = np.interp(ages, (1, 18), (58, 145)), np.interp(ages, (1, 12, 18), (92, 175, 207))
labels = {"domain": "age (years)", "value": "height (cm)"}
chart = PrivateQuantileCurves(
    epsilon=1.0, bounds=(lower, upper), levels=(0.03, 0.15, 0.5, 0.85, 0.97),
    domain=Domain(ages, labels=labels), unit="person",
)  # fmt: skip
release = chart.fit(visits).release_
release.plot(plt.subplots(figsize=(8.5, 5), layout="constrained")[1])
plt.show()

# %%
# How a child of ten years and 150 cm compares: z-score, and share of children below.

print(f"z = {release.z(10.0, 150.0):.2f}, level {release.level(10.0, 150.0):.2f}")
