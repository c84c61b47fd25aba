"""
What is a usual day?
====================

364 days of hourly temperatures. The band is for whole days: about nine in ten new days, or more, stay in
it from midnight to midnight. The release protects a day. The days without noise are shown because these
data are public.
"""

import matplotlib.pyplot as plt

from dpfda import Domain, PrivateReferenceBand
from dpfda.datasets import load_temperatures

days = load_temperatures()
labels = {"domain": "hour of the day", "value": "temperature (degrees Celsius)"}

# %%
# The share is stated beforehand, like the bounds. The width of the band follows from the data.

band = PrivateReferenceBand(
    epsilon=2.0, bounds=(-10.0, 40.0), coverage=0.9, domain=Domain(days.grid_points, labels=labels),
    unit="day",
)  # fmt: skip
release = band.fit(days.values).release_

axis = release.plot()
inside = release.contains(days.values)
axis.plot(days.grid_points, days.values[inside][::12].T, color="0.75", linewidth=0.6, zorder=0)
axis.plot(days.grid_points, days.values[~inside].T, color="tab:red", linewidth=0.6, zorder=0)
plt.show()

# %%
# Days in red leave the band at some hour. What is promised for new days:

print(f"{inside.mean():.0%} of these days lie inside")
print(repr(release))
