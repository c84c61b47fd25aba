"""
A mean day of temperatures
==========================

364 days of hourly temperatures. The release protects a day. The mean without noise is shown because
these data are public.
"""

import matplotlib.pyplot as plt

from dpfda import Domain, PrivateMean
from dpfda.datasets import load_temperatures

days = load_temperatures()
labels = {"domain": "hour of the day", "value": "temperature (degrees Celsius)"}

# %%
# Anybody would choose such bounds for a temperate city. They are not read from the data.

mean = PrivateMean(
    epsilon=1.0, bounds=(-10.0, 40.0), domain=Domain(days.grid_points, labels=labels), unit="day"
)
release = mean.fit(days.values).release_

axis = release.plot()
axis.plot(days.grid_points, days.values.mean(axis=0), "k--", label="mean without noise")
axis.legend()
plt.show()

# %%
# What was promised, and how accurate it is:

print(release.describe()[:1500])
