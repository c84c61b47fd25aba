"""Attacks on custodians who vanish: stolen files, hostile files, and coalitions by another road."""

import json

import numpy as np
import pytest
from cryptography.exceptions import InvalidTag

from dpfda import PrivateMean
from dpfda.front.custodians import agree, part
from dpfda.publication.custody import Keys, vanishing

NAMES, UNITS, POINTS = ("a", "b", "c", "d", "e"), 3, 4


def started(folder, threshold=4, **rules):
    own = {name: Keys.make(name, UNITS) for name in NAMES}
    for name, keys in own.items():
        keys.save(folder / f"{name}.keys")
    lead = Keys.make("registry")
    cards = [keys.card for keys in own.values()]
    mean = PrivateMean(1.0, bounds=(0, 1))
    return own, lead, agree(mean, cards, lead, POINTS, threshold=threshold, **rules)


def made_by(agreement, keys):
    return part(agreement, keys, np.zeros((UNITS, POINTS)))


def test_who_steals_a_file_of_keys_after_the_part_opens_none_of_the_shares_in_that_part(tmp_path):
    """Else all shares that it dealt, in the part or the public roll, give all masks of its part."""
    own, _, agreement = started(tmp_path)
    parts = {name: made_by(agreement, keys) for name, keys in own.items()}
    kept = json.loads((tmp_path / "a.keys").read_text())["kept"]
    keys = [bytes.fromhex(key) for key in kept["others"].values()]
    keys.append(bytes.fromhex(kept["coordinator"]))
    for name, sealed in parts["a"].written["shares"].items():
        for key in keys:
            with pytest.raises(InvalidTag):
                vanishing._unsealed(key, sealed, agreement.digest, "a", name)
    # What others dealt to it opens: the test uses keys as the answer does.
    sealed = parts["b"].written["shares"]["a"]
    key = bytes.fromhex(kept["others"]["b"])
    assert len(vanishing._unsealed(key, sealed, agreement.digest, "b", "a")) == 5 * 66
