"""
How days differ: covariance and components
==========================================

The covariance function of the days of a year, and its first principal component. Both come from one
release.
"""

import matplotlib.pyplot as plt

from dpfda import Domain, PrivateCovariance
from dpfda.covariance.strategies import Center
from dpfda.datasets import load_temperatures

days = load_temperatures()
labels = {"domain": "hour of the day", "value": "temperature (degrees Celsius)"}
covariance = PrivateCovariance(
    4.0,
    bounds=(-10, 40),
    center=Center("private", radius=50.0),
    domain=Domain(days.grid_points, labels=labels),
    unit="day",
)
release = covariance.fit(days.values).release_

# %%
# Hours of a day vary together, mostly with the level of the day.

release.plot()
release.components().plot()
plt.show()
