"""
A mean year of the sea
======================

Sea surface temperatures of the eastern Pacific by month, 1950 to 2010 (the El Nino data of
statsmodels). Among only 61 years it is hard to hide one. The bands show how little is
known at three budgets.
"""

import matplotlib.pyplot as plt
import numpy as np
from statsmodels.datasets import elnino

from dpfda import Domain, PrivateMean

years = elnino.load_pandas().data.iloc[:, 1:].to_numpy()
months = np.arange(1, 13)
domain = Domain(months, labels={"domain": "month", "value": "sea surface (degrees Celsius)"})

# %%
# Twice the budget buys as much as twice the years.

figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
for axis, epsilon in zip(axes, (0.5, 2, 8), strict=True):
    mean = PrivateMean(epsilon, bounds=(15, 32), domain=domain, unit="year").fit(years)
    mean.release_.plot(ax=axis)
    axis.plot(months, years.mean(axis=0), "k--", label="mean without noise")
    axis.set_title(f"epsilon = {epsilon}")
    axis.legend().set_visible(epsilon == 8)
plt.show()
