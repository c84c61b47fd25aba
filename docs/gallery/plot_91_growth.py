"""
Growth of children
==================

Heights of 93 children from one to eighteen years (the Berkeley growth study), from
``atlas/berkeley_growth.csv`` in the folder that ``DPFDA_DATA_DIR`` names.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from dpfda import Domain, PrivateMean

table = np.genfromtxt(
    Path(os.environ["DPFDA_DATA_DIR"]) / "atlas" / "berkeley_growth.csv", delimiter=","
)
ages, heights = table[0], table[1:]
domain = Domain(ages, labels={"domain": "age (years)", "value": "height (cm)"})
release = PrivateMean(4.0, bounds=(50, 210), domain=domain, unit="participant").fit(heights).release_

# %%
# The bounds hold for every age, so the band is wide where no child is that tall.

release.plot()
plt.show()
