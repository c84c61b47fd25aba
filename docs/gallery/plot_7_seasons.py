"""
Two groups and their difference
===============================

Days in summer and in winter: two means for the price of one, because a day is in one group only.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpfda import Domain, PrivateComparison
from dpfda.datasets import load_temperatures

days = load_temperatures()
month = days.dates.astype("datetime64[M]").astype(int) % 12 + 1
season = np.where(np.isin(month, (4, 5, 6, 7, 8, 9)), "summer half", "winter half")
labels = {"domain": "hour of the day", "value": "temperature (degrees Celsius)"}
comparison = PrivateComparison(
    2.0, bounds=(-10, 40), domain=Domain(days.grid_points, labels=labels), unit="day"
)
release = comparison.fit(days.values, season).release_

# %%
# Both means, and the difference with its band:

release.plot()
release.difference("summer half", "winter half").plot()
plt.show()
