"""
Steps
=====

Forces on the ground during a step, 580 records, from ``atlas/ground_force.csv`` in the folder that
``DPFDA_DATA_DIR`` names. Two peaks, heel and toe, stand out from the noise from a budget of a half on.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from dpfda import Domain, PrivateMean

table = np.genfromtxt(Path(os.environ["DPFDA_DATA_DIR"]) / "atlas" / "ground_force.csv", delimiter=",")
percent, forces = np.linspace(0, 100, table.shape[1]), table[1:]
labels = {"domain": "stance (per cent)", "value": "force (body weights)"}
figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
for axis, epsilon in zip(axes, (0.5, 2.0), strict=True):
    mean = PrivateMean(epsilon, bounds=(-0.5, 3), domain=Domain(percent, labels=labels), unit="step")
    mean.fit(forces).release_.plot(ax=axis)
    axis.plot(percent, forces.mean(axis=0), "k--", label="mean without noise")
    axis.set_title(f"epsilon = {epsilon}")
    axis.legend(fontsize="small")
plt.show()
