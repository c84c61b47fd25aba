"""
A mean image
============

Handwritten digits, 8 by 8 pixels (scikit-learn). A mean image is a mean of functions on a square. The
basis is that of a box, and the release is a function of two variables.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from dpfda import PrivateMean
from dpfda.bases import BoxBasis

digits = load_digits()
threes = digits.images[digits.target == 3]
basis = BoxBasis.on_grid("cosine", (8, 8), [(0, 1), (0, 1)])

# %%
# 183 images of a three. The release protects one image.

release = PrivateMean(2.0, bounds=(0, 16), basis=basis, unit="image").fit(threes).release_
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
shown = left.imshow(threes.mean(axis=0), extent=(0, 1, 1, 0))
left.set_title("without noise")
right.imshow(release.on_grid((64, 64)), extent=(0, 1, 1, 0), norm=shown.norm)
right.set_title("released, epsilon = 2, on a finer grid")
for axis in (left, right):
    axis.set_xlabel("column (share of the width)")
    axis.set_ylabel("row (share of the height)")
figure.suptitle("Mean of 183 handwritten threes")
figure.colorbar(shown, ax=[left, right], label="ink (0 to 16)")
plt.show()
