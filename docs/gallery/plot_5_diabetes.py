"""
A regression function
=====================

Progression of diabetes after a year against the body mass index (scikit-learn, 442 patients). The
function itself is published: anyone may evaluate it anywhere between the bounds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from dpfda import PrivateKernelRegressor

data = load_diabetes(scaled=False)
index = data.data[:, [2]]
machine = PrivateKernelRegressor(
    2.0, bounds=(15.0, 45.0), target_bounds=(25.0, 346.0), unit="patient"
).fit(index, data.target)

# %%
# Dots are the data, which are public; the line is the release.

at = np.linspace(15, 45, 121)[:, None]
figure, axis = plt.subplots(layout="constrained")
axis.scatter(index, data.target, s=8, color="0.7", label="patients (these data are public)")
axis.plot(at, machine.predict(at), label="released, epsilon = 2")
band = machine.release_.band(points=at)
axis.fill_between(at[:, 0], band.lower, band.upper, alpha=0.2, label="95 % band")
axis.set_xlabel("body mass index (kg per square metre)")
axis.set_ylabel("progression after one year (score)")
axis.set_title("Progression of diabetes by body mass index, 442 patients")
axis.legend()
plt.show()
