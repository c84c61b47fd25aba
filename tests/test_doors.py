"""A kind of container in one file, tried with recordings of an instrument that nobody else knows."""

import sys
import textwrap

import numpy as np
import pytest

from dpfda import PrivateDensity, PrivateMean, PrivateVectorMean
from dpfda.errors import DataError
from dpfda.records import doors
from dpfda.testing import exact_totals

RNG = np.random.default_rng(3)
FILE = """
    from dpfda.records.doors import Door
    from dpfda.records.doors import Handed

    class Tape(Door):
        def recognises(self, data):
            return type(data).__name__ == "Reel"

        def cells(self, data):
            return data.samples

        def curves(self, data, groups, stated):
            units = data.owners if groups == "owner" else groups
            grid = [data.step * i for i in range(len(data.samples[0]))]
            return Handed(data, units, grid, (0.0, data.step * len(grid)))

        def points(self, data, groups):
            return Handed(data, data.owners if groups == "owner" else groups)

        def words(self, data):
            return {"domain": "seconds", "value": None}

        def channels(self, data):
            return [("left", data), ("right", data)]
"""


class Reel:
    """Samples at equal steps, and whose they are."""

    def __init__(self, samples, step=0.5, owners=None):
        self.samples, self.step, self.owners = samples, step, owners


@pytest.fixture
def one_file(tmp_path, monkeypatch):
    (tmp_path / "tape.py").write_text(textwrap.dedent(FILE))
    monkeypatch.setattr(doors, "__path__", [*doors.__path__, str(tmp_path)])
    yield
    sys.modules.pop("dpfda.records.doors.tape", None)


@pytest.mark.usefixtures("one_file")
class TestOneFile:
    def test_curves_are_those_of_the_array_with_its_grid_domain_and_words(self):
        samples = RNG.uniform(size=(40, 6))
        mean = PrivateMean(1.0, bounds=(0, 1))
        found = mean.prepare(Reel(samples))
        same = PrivateMean(1.0, bounds=(0, 1), grid_points=np.arange(6) / 2, domain_range=(0, 3))
        assert exact_totals(found.total) == exact_totals(same.prepare(samples).total)
        assert found.plan.basis.domain_range == (0.0, 3.0)
        assert mean.fit(Reel(samples)).release_.about["domain"] == "seconds"

    def test_the_container_says_whose_records_are(self):
        recording = Reel(RNG.uniform(size=(40, 6)), owners=[str(i // 4) for i in range(40)])
        assert PrivateMean(1.0, bounds=(0, 1)).prepare(recording, "owner").plan.size == 10
        points = Reel(RNG.uniform(size=(40, 1)), owners=recording.owners)
        assert PrivateDensity(1.0, domain=(0, 1)).prepare(points, "owner").plan.size == 10

    def test_labels_and_channels(self):
        samples = RNG.uniform(size=(40, 6))
        units = PrivateMean(1.0, bounds=(0, 1)).prepare(samples, Reel(list("abcd") * 10))
        assert units.plan.size == 4
        both = PrivateVectorMean(1.0, bounds=(0, 1)).fit(Reel(samples)).release_
        assert [*both.bands(0.9)] == ["left", "right"]


def test_without_a_file_it_is_refused():
    class Unheard(Reel):
        pass

    with pytest.raises(DataError, match="X must have two dimensions"):
        PrivateMean(1.0, bounds=(0, 1), grid_points=np.arange(6)).fit(Unheard(RNG.uniform(size=(40, 6))))
