"""
A classification function
=========================

Breast tumours, malignant or benign, by two measurements of the image (scikit-learn, 569 patients).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from dpfda import PrivateKernelClassifier

data = load_breast_cancer()
names = ["mean radius", "mean texture"]
inputs = data.data[:, [list(data.feature_names).index(name) for name in names]]
labels = np.where(data.target == 0, "malignant", "benign")
machine = PrivateKernelClassifier(
    2.0, bounds=[(5.0, 30.0), (5.0, 40.0)], classes=("benign", "malignant"), unit="patient"
).fit(inputs, labels)

# %%
# On the line the released function takes both as equally likely.

axis = machine.release_.plot()
for label, marker, colour in (("benign", "o", "white"), ("malignant", "^", "black")):
    rows = labels == label
    axis.scatter(*inputs[rows].T, s=12, marker=marker, color=colour, edgecolors="0.3", label=label)
axis.set_xlabel("mean radius of nuclei (pixels)")
axis.set_ylabel("mean texture (grey levels)")
axis.legend()
plt.show()
print(f"right for {np.mean(machine.predict(inputs) == labels):.1%} of the patients it was trained on")
