"""
Scans along a nerve tract
=========================

382 scans of 142 persons along the corpus callosum (acknowledging Johns Hopkins University and the
Kennedy Krieger Institute), from ``dti_cca.csv`` in the folder that ``DPFDA_DATA_DIR`` names. A
person's scans count as one, so the release protects the person.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from dpfda import PrivateMean

file = Path(os.environ["DPFDA_DATA_DIR"]) / "dti_cca.csv"
person = np.genfromtxt(file, delimiter=",", skip_header=1, usecols=0, dtype=str)
scans = np.genfromtxt(file, delimiter=",", skip_header=1, usecols=range(3, 96), missing_values="NA")

# %%
# Six scans have gaps, which are filled from the scan itself.

labels = {"domain": "position along the tract", "value": "fractional anisotropy"}
mean = PrivateMean(1.0, bounds=(0, 1), missing="complete", labels=labels, unit="person")
release = mean.fit(scans, groups=person).release_
release.plot()
plt.show()
