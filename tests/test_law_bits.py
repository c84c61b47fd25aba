"""Every law draws the same integers from the same bits as it did when these were written down."""

import hashlib

import numpy as np
import pytest

from dpfda.noise import (
    BoxNoise,
    BoxPartNoise,
    EllipsoidNoise,
    EllipticalNoise,
    GaussianNoise,
    KNormNoise,
    laws_of,
)
from dpfda.noise.elliptical import StudentForms
from dpfda.noise.knorm_shares import SharedBlocksNoise, SharedKNormNoise
from dpfda.noise.protocol import Law
from dpfda.noise.repeated import SummedNoise
from dpfda.noise.shared import (
    SharedGaussianNoise,
    SharedLaplaceNoise,
    SharedSymmetricKNormNoise,
    SharedSymmetricNoise,
)
from dpfda.noise.symmetric import SymmetricGaussianNoise, SymmetricKNormNoise
from dpfda.noise.wishart import CoupledNoise, WishartDifferenceNoise
from dpfda.numerics import exactness

SCALES = tuple(3**k % 10007 + 1 for k in range(40))
# Each law drawn by whole arrays, and some of few numbers, which are drawn in ball arithmetic alone.
LAWS = {
    "few numbers in a box": BoxNoise(SCALES[:5]),
    "box": BoxNoise(SCALES),
    "part of a box": BoxPartNoise(SCALES[:25], 40),
    "sum of draws": SummedNoise(SCALES, "gaussian", (1, -3)),
    "ellipsoid": EllipsoidNoise(SCALES),
    "multivariate t": EllipticalNoise(40, 2**70, "student-t", 7),
    "multivariate Laplace": EllipticalNoise(40, 2**20, "laplace", 0),
    "normal": GaussianNoise(SCALES),
    "few normal numbers": GaussianNoise(SCALES[:3]),
    "Laplace": KNormNoise((1,) * 40, SCALES),
    "blocks": KNormNoise((1, 2, 17, 20), (5, 70, 900, 2**65)),
    "symmetric block": SymmetricKNormNoise(7, 10**6),
    "symmetric normal": SymmetricGaussianNoise(7, 10**6),
    "difference of Wishart matrices": WishartDifferenceNoise(7, 10**6),
    "coupled difference": CoupledNoise(7, 10**6),
    "normal in shares": SharedGaussianNoise(SCALES, 2, 2),
    "Laplace in shares": SharedLaplaceNoise(SCALES, 2, 2),
    "symmetric normal in shares": SharedSymmetricNoise(7, 10**6, 2, 2),
    "block in shares": SharedKNormNoise(SCALES, 2, 2),
    "blocks in shares": SharedBlocksNoise(SCALES, 2, 2, (1, 19, 20)),
    "symmetric block in shares": SharedSymmetricKNormNoise(7, 10**6, 2, 2),
}
DRAWN = {
    "few numbers in a box": "41986696d575bab8",
    "box": "8e65399bdc1af967",
    "part of a box": "506dd17e1751122e",
    "sum of draws": "d81cb4cd441705f6",
    "ellipsoid": "493283b44771a842",
    "multivariate t": "818d3a6381fa33dc",
    "multivariate Laplace": "aeb2b315e878d36d",
    "normal": "11ac275ed9beec7b",
    "few normal numbers": "d63170e72761b0aa",
    "Laplace": "1d328364c69cc3d2",
    "blocks": "c88ba4d9ead18066",
    "symmetric block": "4668aaa81d5fe5fd",
    "symmetric normal": "999f227da9b81955",
    "difference of Wishart matrices": "5d44cf0eae8f296b",
    "coupled difference": "2f088350224069d0",
    "normal in shares": "c7c8570925b699c3",
    "Laplace in shares": "cf4bf0df9b15b6a8",
    "symmetric normal in shares": "2a61a80c140faa3d",
    "block in shares": "7d315e407262ec71",
    "blocks in shares": "31a6b4e55058ce48",
    "symmetric block in shares": "5a7b6854bcc228d1",
}


def drawn(law, monkeypatch):
    bits = np.random.Generator(np.random.Philox(key=2026))
    monkeypatch.setattr(exactness, "system_bytes", bits.bytes)
    return hashlib.blake2b(repr([law.draw() for _ in range(3)]).encode(), digest_size=8).hexdigest()


@pytest.mark.parametrize("name", LAWS)
def test_integers_drawn_from_given_bits_stay_what_they_were(name, monkeypatch):
    assert drawn(LAWS[name], monkeypatch) == DRAWN[name]


def test_every_law_is_among_them():
    # It refuses to be drawn whole; a session draws its forms.
    assert {type(law) for law in LAWS.values()} == set(laws_of(Law).values()) - {StudentForms}


def test_other_bits_give_other_integers(monkeypatch):
    assert len({drawn(law, monkeypatch) for law in LAWS.values()}) == len(LAWS)
    assert set(DRAWN) == set(LAWS)
