"""
A density: how often people see a doctor
========================================

Outpatient visits a year of 20,190 person-years in the RAND health insurance experiment
(statsmodels). The release is a density with its distribution function, quantiles, and as many
synthetic values as you like.
"""

import matplotlib.pyplot as plt
import numpy as np
from statsmodels.datasets import randhie

from dpfda import Domain, PrivateDensity

visits = randhie.load_pandas().data["mdvis"].to_numpy()
domain = Domain(domain_range=(-0.5, 40.5), labels={"domain": "visits in a year"})
density = PrivateDensity(epsilon=0.5, domain=domain, cells=41, unit="person-year")
release = density.fit(np.minimum(visits, 40)).release_

# %%
# Visits are whole numbers, so each has a cell. More than forty count as forty.

axis = release.plot()
plt.show()

# %%
# Quantiles of the release, beside those of the data:

for level in (0.25, 0.5, 0.75, 0.9):
    print(f"{level:.0%}: {release.quantile(level):.1f}   without noise {np.quantile(visits, level):.1f}")
