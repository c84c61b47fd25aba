"""
Loads of a grid
===============

Electricity demand of South Australia on 508 Mondays, by half hours, from
``adelaide_monday_demand.csv`` in the folder that ``DPFDA_DATA_DIR`` names.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from dpfda import Domain, PrivateMean

file = Path(os.environ["DPFDA_DATA_DIR"]) / "adelaide_monday_demand.csv"
demand = np.genfromtxt(file, delimiter=",", skip_header=1)
hours = (np.arange(48) + 1) / 2
domain = Domain(hours, labels={"domain": "hour of the day", "value": "demand (MW)"})
release = PrivateMean(1.0, bounds=(0, 3500), domain=domain, unit="Monday").fit(demand).release_

# %%
# The morning's rise and the evening's peak are far larger than the noise.

axis = release.plot()
axis.plot(hours, demand.mean(axis=0), "k--", label="mean without noise")
axis.legend()
plt.show()
