"""
Spectra
=======

Near infrared spectra of 60 samples of gasoline, from ``atlas/gasoline_nir.csv`` in the folder that
``DPFDA_DATA_DIR`` names. With so few records, narrow peaks cannot be published; the band
says so.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from dpfda import Domain, PrivateMean

table = np.genfromtxt(Path(os.environ["DPFDA_DATA_DIR"]) / "atlas" / "gasoline_nir.csv", delimiter=",")
waves, spectra = table[0], table[1:]
domain = Domain(waves, labels={"domain": "wavelength (nm)", "value": "log(1 / R)"})
release = PrivateMean(8.0, bounds=(-0.5, 1.5), domain=domain, unit="sample").fit(spectra).release_
axis = release.plot()
axis.plot(waves, spectra.mean(axis=0), "k--", label="mean without noise")
axis.legend()
plt.show()
