"""Sessions: one answer to a query, whatever is suspended, killed, copied or cut."""

import copy
import gc
import itertools
import json
import math
import os
import pickle
import re
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from dpfda import PrivateMean, Reading, Session
from dpfda.bases import BoxBasis, CosineBasis
from dpfda.errors import (
    BudgetError,
    ParameterError,
    RefusedMechanismError,
    SessionError,
    StorageError,
)
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.protocol import Measurement
from dpfda.noise import gaussian_on_body
from dpfda.numerics import exactness
from dpfda.privacy.composition import compose
from dpfda.privacy.guarantees import ApproximateDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication.session import Answer, journal
from dpfda.publication.session.conditional import ConditionalValues
from dpfda.publication.session.queries import Posed, Query
from dpfda.publication.session.records import answer_to_json
from dpfda.testing import exact_totals

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="sessions need POSIX file locks"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

GRID = np.linspace(0.0, 2.0, 21)
CURVES = np.sin(3 * GRID) + np.random.default_rng(8).normal(0, 0.3, (60, 1))
# What draws a session's noise.
STATE = "dpfda.publication.session.session.ConditionalValues"
POINTS = [0.3, 1.1, 0.35, 1.9, 0.3, 0.0, 2.0]


def mean(**parameters: Any) -> PrivateMean:
    made: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "bounds": (-3.0, 3.0),
        "basis": CosineBasis.on_grid(5, GRID),
        "mechanism": "gaussian",
    }
    return PrivateMean(**{**made, **parameters})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mean.session"


@pytest.fixture
def asked(path: Path) -> Iterator[Session]:
    with mean().open_session(CURVES, path) as session:
        yield session


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every number of fair bits that was drawn, in order."""
    real, seen = exactness.system_bits, []

    def counted(bits: int) -> int:
        seen.append(real(bits))
        return seen[-1]

    monkeypatch.setattr(exactness, "system_bits", counted)
    return seen


def kept(path: Path) -> list[int]:
    """The uniforms in a file, in the order in which they were drawn."""
    lines = [json.loads(line.split(b"\t")[0]) for line in path.read_bytes().splitlines()[1:]]
    draws = [line["draw"]["uniforms"] for line in lines if "draw" in line]
    return [int(value, 16) for draw in draws for pair in draw.values() for value in pair]


def total() -> tuple[int, ...]:
    """The exact sum that a session on these curves keeps."""
    return exact_totals(mean().prepare(CURVES).total)


def held(thing: object) -> set[int]:
    """All integers that a session's state holds, however deep."""
    seen, found, left = set(), set(), [thing]
    while left:
        one = left.pop()
        if isinstance(one, int):
            found.add(one)
        elif id(one) not in seen and not isinstance(one, type | ModuleType | FunctionType):
            seen.add(id(one))
            left += gc.get_referents(one)
    return found


def without_answers(path: Path) -> Path:
    """The same session, whose file has lost the record of its answers and kept the bits."""
    opened, records = journal.Journal.open(path)
    opened.close()
    shorter = journal.Journal.create(path.with_name("shorter"))
    shorter.append([record for record in records if "question" not in record])
    shorter.close()
    return shorter.path


# --- answers ---


def test_the_same_query_has_the_same_answer(asked, drawn):
    first = [asked.value(0.3), asked.derivative(0.3), asked.integral(0.1, 1.5), asked.inner(np.cos)]
    used = len(drawn)
    again = [asked.value(0.3), asked.derivative(0.3), asked.integral(0.1, 1.5), asked.inner(np.cos)]
    assert first == again
    assert asked.values([0.3, 0.3]).tolist() == [first[0]] * 2
    assert len(drawn) == used == 8
    assert len(asked.answers()) == 4


def test_a_batch_is_its_queries_one_by_one(asked):
    batch = asked.values(np.array(POINTS)[:, None])
    assert batch.shape == (7, 1)
    assert [asked.value(point) for point in POINTS] == batch.ravel().tolist()
    # 0.3 stands there twice and is asked once.
    assert [answer.number for answer in asked.answers()] == [1, 2, 3, 4, 5, 6]


def test_answers_are_those_of_one_function(asked):
    parts = asked.integral(0.0, 0.7) + asked.integral(0.7, 1.2) + asked.integral(1.2, 2.0)
    assert parts == pytest.approx(asked.integral(), rel=1e-12)
    assert asked.integral(1.2, 0.7) == pytest.approx(-asked.integral(0.7, 1.2), rel=1e-12)
    step = 1e-5
    slope = (asked.value(0.9 + step) - asked.value(0.9 - step)) / (2 * step)
    assert slope == pytest.approx(asked.derivative(0.9), rel=1e-6)
    assert asked.inner(lambda t: 2 + 0 * t) == pytest.approx(2 * asked.integral(), rel=1e-12)
    # Five coefficients: five values determine the function.
    nodes = np.array([0.1, 0.5, 0.9, 1.4, 1.8])
    basis = CosineBasis.on_grid(5, GRID)
    coefficients = np.linalg.solve(basis.evaluate(nodes), asked.values(nodes))
    assert asked.value(1.63) == pytest.approx(float(basis.evaluate([1.63])[0] @ coefficients), rel=1e-9)


def test_nothing_is_drawn_once_the_function_is_determined(asked, drawn):
    asked.values([0.1, 0.5, 0.9, 1.4, 1.8])
    assert len(drawn) == 10
    asked.values(np.linspace(0, 2, 50))
    asked.derivative(0.4, 2)
    assert len(drawn) == 10


def test_what_is_not_asked_is_not_drawn(asked, drawn):
    assert drawn == []
    asked.value(0.5)
    assert len(drawn) == 2


def test_standard_errors_are_the_square_roots_of_the_quadratic_form(asked):
    asked.value(0.4)
    asked.integral(0.2, 1.3)
    public = asked.to_json()
    functions = CosineBasis.on_grid(5, GRID).evaluate([0.4])[0]
    deviations = np.array(asked.noise.scales) * 2.0 ** -public["exponent"] / 60 * public["shrinkage"]
    first, second = asked.answers()
    assert first.standard_error == pytest.approx(
        float(np.linalg.norm(functions * deviations)), rel=1e-12
    )
    antiderivatives = [1.1 / math.sqrt(2)] + [
        (math.sin(k * math.pi * 0.65) - math.sin(k * math.pi * 0.1)) * 2 / (k * math.pi)
        for k in range(1, 5)
    ]
    exact = float(np.linalg.norm(antiderivatives * deviations))
    assert second.standard_error == pytest.approx(exact, rel=1e-12)
    low, high = first.interval(0.9)
    assert (high - low) / 2 == pytest.approx(1.6448536269514722 * first.standard_error, rel=1e-12)
    assert (high + low) / 2 == pytest.approx(first.value, rel=1e-12)
    with pytest.raises(ParameterError, match="level must lie strictly between 0 and 1; found 1"):
        first.interval(1)


def test_two_sessions_draw_two_paths(tmp_path):
    with (
        mean().open_session(CURVES, tmp_path / "a") as a,
        mean().open_session(CURVES, tmp_path / "b") as b,
    ):
        assert a.value(0.5) != b.value(0.5)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda s: s.value(2.5), r"points must lie"),
        (lambda s: s.values([0.1, math.nan]), r"points must"),
        (lambda s: s.derivative(0.5, 3), r"order must be 1 or 2; found 3"),
        (lambda s: s.integral(-1, 1), r"points must lie"),
        (lambda s: s.inner(lambda t: t / 0), r"function must be finite on the domain"),
        (lambda s: s.inner(lambda t: "words"), r"function must take an array of points"),
        (lambda s: s.inner(lambda t: t[:3]), r"function must take an array of points"),
        (lambda s: s.inner(lambda t: np.exp(1j * t)), r"must have real values; found .*complex128"),
        (lambda s: s.inner(lambda t: 1e200 * t), r"at most 2\^500.*Divide it by a constant"),
        (lambda s: s.inner(lambda t: 1e308 + 0 * t), r"a finite integral with the basis|at most 2\^500"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_unusable_queries_are_refused_before_anything_is_drawn(asked, drawn, ask, words):
    with pytest.raises(ParameterError, match=words):
        ask(asked)
    assert drawn == []
    assert asked.answers() == []
    assert math.isfinite(asked.value(0.5))


def test_functions_without_a_derivative_say_so(path):
    kernel = Matern(0.3, nu=0.5)
    with mean(basis=kernel, grid_points=GRID).open_session(CURVES, path) as session:
        with pytest.raises(ParameterError, match="kernel must be smooth enough for the derivative"):
            session.derivative(0.5)
        assert math.isfinite(session.value(0.5))


# --- the guarantee ---


def test_the_whole_path_is_charged_once_before_anything_is_drawn(path, drawn):
    drawn_at_charge = []

    class Watching(MemoryLedger):
        def charge(self, *arguments: Any) -> Any:
            drawn_at_charge.append(len(drawn))
            return super().charge(*arguments)

    ledger = Watching().create("scans", ApproximateDP(1, "1e-6"))
    with mean(ledger=ledger.of("scans")).open_session(CURVES, path) as session:
        session.values(np.linspace(0, 2, 30))
        session.integral()
    with Session.resume(path) as session:
        session.value(0.123)
    assert len([row for row in ledger.history("scans") if row.action == "charge"]) == 1
    assert ledger.remaining("scans")["epsilon"] == 0
    assert len(drawn) == 10
    with pytest.raises(BudgetError):
        mean(ledger=ledger.of("scans")).open_session(CURVES, path.with_name("other"))
    assert not path.with_name("other").exists()
    assert drawn_at_charge == [0, 10]
    assert len(drawn) == 10


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"delta": 0.0}, "delta must be positive"),
        ({"delta": 0.0, "mechanism": "auto"}, "delta must be positive in a session; found 0.*Reimherr"),
        ({"delta": 0.0, "mechanism": "knorm"}, "delta must be positive in a session; found 0.*Reimherr"),
        ({"mechanism": "student-t"}, r"mechanism must be 'gaussian' or 'gaussian-process' in a session"),
        ({"mechanism": "iclp"}, "mechanism must suit the guarantee"),
        (
            {"mechanism": "auto", "neighbours": "add-remove"},
            "mechanism must be named in a session whose number of units is private; found 'auto'",
        ),
    ],
)
def test_noise_that_is_not_gaussian_is_refused_free_of_charge(path, drawn, parameters, words):
    ledger = MemoryLedger().create("scans", ApproximateDP(5, "1e-5"))
    with pytest.raises(RefusedMechanismError, match=words):
        mean(**parameters, ledger=ledger.of("scans")).open_session(CURVES, path)
    assert ledger.spent("scans")["epsilon"] == 0
    assert drawn == []
    assert not path.exists()


class TotalOnGrid:
    """Gaussian noise on the sum of all values on the grid, which is no coefficient."""

    name = "total"

    def design(self, problem: Problem) -> Design:
        matrix = np.ones((1, GRID.size), dtype=np.int64)
        width = problem.neighbours.differences(int(problem.cube.half_widths.sum()))
        noise = gaussian_on_body([1.0], "box", [width], problem.guarantee)
        measurement = Measurement(matrix, problem.cube.exponent, np.ones((1, 1)))
        return Design(self.name, {}, noise, np.ones(1), measurement=measurement)


CELLS = BoxBasis.on_grid("cosine", (4, 5), [(0, 1), (0, 1)])


@pytest.mark.parametrize(
    ("parameters", "curves", "words"),
    [
        ({"basis": CELLS}, np.zeros((60, 20)), "basis must be of functions on an interval in a session"),
        (
            {"mechanism": TotalOnGrid(), "basis": None},
            CURVES,
            "add its noise to coefficients in a session; found 'total', which measures values",
        ),
    ],
)
def test_what_a_session_cannot_answer_is_refused_free_of_charge(path, drawn, parameters, curves, words):
    ledger = MemoryLedger().create("scans", ApproximateDP(5, "1e-5"))
    with pytest.raises(ParameterError, match=words):
        mean(**parameters, ledger=ledger.of("scans")).open_session(curves, path)
    assert ledger.spent("scans")["epsilon"] == 0
    assert drawn == []
    assert not path.exists()


@pytest.mark.parametrize("size", [None, 50])
def test_the_number_of_units_may_be_private(path, monkeypatch, size):
    real, drawn = exactness.system_bytes, []
    monkeypatch.setattr(exactness, "system_bytes", lambda size: drawn.append(size) or real(size))
    made = mean(neighbours="add-remove", public_size=size)
    with made.open_session(CURVES, path) as session:
        before = len(drawn)
        told = session.value(0.5)
        assert len(drawn) == before + 2
    # The count has noise of its own, whose bits are asked for at once, and which is not drawn again.
    assert before == (1 if size is None else 0)
    with Session.resume(path) as session:
        assert session.value(0.5) == told
        divisor = session.to_json()["divisor"]
    if size is None:
        assert divisor["noisy"] / divisor["scale"] == pytest.approx(60, abs=400)
    else:
        assert divisor == {"kind": "public", "value": 50}
    assert len(drawn) == before + 2


def test_units_are_averaged_first(path):
    people = np.repeat(np.arange(20), 3)
    with mean(unit="person").open_session(CURVES, path, groups=people) as session:
        assert session.to_json()["divisor"] == {"kind": "public", "value": 20}
        assert "data sets that differ in one person (the number of persons is public)" in repr(session)


# --- what is shown and exported ---


def test_the_representation_says_what_is_guaranteed(asked):
    asked.values(POINTS)
    shown = repr(asked)
    assert "Session on [0, 2], open" in shown
    assert "(1, 1e-06)-differential privacy, for all queries together" in shown
    assert "answered:     6 queries" in shown


def test_the_export_holds_the_answers_and_nothing_secret(asked, path, tmp_path, drawn):
    asked.values(POINTS)
    asked.inner(np.cos, label="cosine")
    written = json.loads(asked.export(tmp_path / "answers.json").read_text())
    assert written["guarantee"]["words"] == "(1, 1e-06)-differential privacy"
    assert written["neighbours"] == "replace-one"
    assert written["privacy_unit"] == "record"
    assert [row["value"] for row in written["answers"]] == [row.value for row in asked.answers()]
    assert written["answers"][0]["question"] == {"kind": "value", "at": 0.3}
    assert written["answers"][-1]["question"]["with"] == "cosine"
    text = (tmp_path / "answers.json").read_text() + repr(asked) + repr(asked.answers())
    secrets = [*total(), *drawn]
    assert len(secrets) == 5 + 10
    for secret in secrets:
        # The sum's leading digits would do.
        assert str(abs(secret))[:9] not in text
        assert f"{abs(secret):x}"[:9] not in text
    # The file itself holds them, and says so.
    assert f"{abs(total()[0]):x}" in path.read_text()
    assert "SECRET" in path.read_text()


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_are_refused(asked, duplicate):
    with pytest.raises(SessionError, match="cannot be pickled or copied: two copies could draw twice"):
        duplicate(asked)


# --- suspending and resuming ---


def test_a_resumed_session_goes_on_with_the_same_path(asked, path, drawn):
    told = {point: asked.value(point) for point in POINTS[:3]}
    integral = asked.integral(0.2, 0.9)
    asked.suspend()
    with pytest.raises(SessionError, match=r"is suspended and answers nothing more. Resume it"):
        asked.value(0.3)
    before = list(drawn)
    with Session.resume(path) as session:
        assert [row.value for row in session.answers()] == [*told.values(), integral]
        assert {point: session.value(point) for point in told} == told
        assert drawn == before
        # Five coefficients, four known: one more normal, and the function is determined.
        rest = session.integral(0.9, 2.0)
        assert len(drawn) == len(before) + 2
        assert session.integral(0.2, 2.0) == pytest.approx(integral + rest, rel=1e-11)
        assert session.integral(0.2, 2.0) != session.integral(0.2, 1.9)
        assert len(drawn) == len(before) + 2
    assert kept(path) == drawn


def test_refined_bits_survive(path, monkeypatch, drawn):
    monkeypatch.setattr(STATE, partial(ConditionalValues, initial_bits=8))
    with mean().open_session(CURVES, path) as session:
        told = session.values(POINTS[:4])
    assert len(drawn) > 8
    # Without the record of answers the bits alone give the same.
    with Session.resume(without_answers(path), moved=True) as resumed:
        assert resumed.answers() == []
        before = len(drawn)
        assert resumed.values(POINTS[:4]).tolist() == told.tolist()
        assert len(drawn) == before
        assert len(resumed.answers()) == 4


def test_a_custom_kernel_is_passed_again(path):
    def kernel(s: Any, t: Any) -> Any:
        return np.exp(-np.abs(s - t))

    with mean(basis=kernel, grid_points=GRID).open_session(CURVES, path) as session:
        told = session.value(0.5)
    with pytest.raises(StorageError, match="custom kernel"):
        Session.resume(path)
    with Session.resume(path, kernel=kernel) as session:
        assert session.value(0.5) == told


def test_closing_destroys_the_secret_state_and_keeps_the_answers(asked, path, tmp_path):
    told = asked.value(0.5)
    os.link(path, tmp_path / "inside")
    size = path.stat().st_size
    asked.close()
    assert not path.exists()
    assert (tmp_path / "inside").read_bytes() == bytes(size)
    assert asked.answers()[0].value == told
    assert "closed" in repr(asked)
    assert str(path) not in repr(asked)
    with pytest.raises(SessionError, match="is closed and answers nothing more"):
        asked.value(0.5)
    with pytest.raises(SessionError, match="The session is closed"):
        asked.close()
    with pytest.raises(StorageError, match="No such file"):
        Session.resume(path)
    os.replace(tmp_path / "inside", path)
    with pytest.raises(StorageError, match="holds no session: it was closed"):
        Session.resume(path)


@pytest.mark.parametrize("call", ["write", "unlink"])
def test_a_close_that_fails_ends_the_session_and_says_what_is_left(
    asked, path, monkeypatch, drawn, call
):
    told = asked.value(0.5)
    assert set(total()) <= held(asked)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(journal.os if call == "write" else Path, call, fail)
        words = r"was not overwritten \(Input" if call == "write" else r"was not removed \(Input"
        with pytest.raises(StorageError, match=rf"session is closed, but .*{words}.*other means"):
            asked.close()
    with pytest.raises(SessionError, match="is closed and answers nothing more"):
        asked.value(0.7)
    assert held(asked).isdisjoint({*total(), *drawn})
    assert asked.answers()[0].value == told
    # Each of the two is done though the other fails.
    assert path.exists() == (call == "unlink")
    assert call == "write" or not path.read_bytes().strip(b"\0")


def test_overwriting_goes_on_after_short_writes(asked, path, tmp_path, monkeypatch):
    asked.value(0.5)
    os.link(path, tmp_path / "inside")
    size = path.stat().st_size
    monkeypatch.setattr(journal.os, "write", lambda d, data: OS_WRITE(d, bytes(data)[:100]))
    asked.close()
    assert (tmp_path / "inside").read_bytes() == bytes(size)


def test_a_failed_opening_overwrites_the_sums(path, monkeypatch):
    """The header is written, its sync fails: zeros are written over it before it is removed."""
    written = []

    def write(descriptor: int, data: Any) -> int:
        written.append((os.lseek(descriptor, 0, os.SEEK_CUR), bytes(data)))
        return OS_WRITE(descriptor, data)

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(journal.os, "write", write)
    monkeypatch.setattr(journal.os, "fsync", fail)
    with pytest.raises(StorageError, match="could not be written: Input/output error"):
        mean().open_session(CURVES, path)
    assert not path.exists()
    (start, header), (again, zeros) = written
    assert b"SECRET" in header
    assert start == again == 0
    assert zeros == bytes(len(header))


def test_the_secret_file_is_not_exported_over(asked, path, tmp_path):
    told = asked.value(0.5)
    (tmp_path / "link").symlink_to(path)
    os.link(path, tmp_path / "hard")
    asked.suspend()
    for target in (path, tmp_path / "link", tmp_path / "hard"):
        with pytest.raises(ParameterError, match="path must not be the session's own file"):
            asked.export(target)
    with Session.resume(path) as session:
        assert session.value(0.5) == told


def test_a_session_is_composed_as_the_release_that_it_is(asked):
    release = mean().fit(CURVES).release_
    assert compose([asked]) == compose([release])
    again = mean().fit(CURVES).release_
    assert compose([asked, release], delta="1e-5") == compose([again, release], delta="1e-5")


# --- one file, one writer ---


def test_a_second_opener_is_refused(asked, path):
    with pytest.raises(SessionError, match=r"is open elsewhere. Suspend it there first"):
        Session.resume(path)
    with pytest.raises(StorageError, match="must not exist yet"):
        mean().open_session(CURVES, path)
    assert math.isfinite(asked.value(0.5))
    asked.suspend()
    Session.resume(path).suspend()


def test_an_existing_file_is_refused_free_of_charge(path):
    path.write_text("mine")
    ledger = MemoryLedger().create("scans", ApproximateDP(1, "1e-6"))
    with pytest.raises(StorageError, match="must not exist yet"):
        mean(ledger=ledger.of("scans")).open_session(CURVES, path)
    assert path.read_text() == "mine"
    assert ledger.spent("scans")["epsilon"] == 0
    with pytest.raises(StorageError, match="cannot be made: No such file"):
        mean().open_session(CURVES, path.parent / "nowhere" / "file")


def test_a_child_process_is_refused(asked, path):
    asked.value(0.5)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for attempt in (lambda: asked.value(0.7), lambda: Session.resume(path)):
                try:
                    attempt()
                except SessionError as error:
                    code += 2 * ("parent of this process" in str(error)) + 4 * (
                        "elsewhere" in str(error)
                    )
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    # The parent still holds the lock and goes on.
    assert math.isfinite(asked.value(0.7))


def test_only_the_owner_may_read_the_file(asked, path):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    asked.suspend()
    path.chmod(0o644)
    with pytest.raises(StorageError, match=r"readable by its owner alone \(mode 600\).*has mode 644"):
        Session.resume(path)


def test_copies_and_moved_files_need_a_word(asked, path, tmp_path):
    told = asked.value(0.5)
    asked.suspend()
    shutil.copy2(path, tmp_path / "copy")
    with pytest.raises(SessionError, match=r"is a copy, or was moved or restored.*pass moved=True"):
        Session.resume(tmp_path / "copy")
    # Put back from a copy, it is another inode.
    os.replace(tmp_path / "copy", path)
    with pytest.raises(SessionError, match="moved=True"):
        Session.resume(path)
    os.replace(path, tmp_path / "moved")
    with Session.resume(tmp_path / "moved", moved=True) as session:
        assert session.value(0.5) == told
        later = session.value(0.6)
    # Once vouched for, it is at home there.
    with Session.resume(tmp_path / "moved") as session:
        assert [session.value(0.5), session.value(0.6)] == [told, later]
        assert len(session.answers()) == 2


def test_a_backup_that_is_put_back_is_refused_though_its_inode_is_the_same(path):
    with mean().open_session(CURVES, path):
        pass
    backup, inode = path.read_bytes(), path.stat().st_ino
    with Session.resume(path) as session:
        told = session.value(0.5)
    generation = json.loads(backup.split(b"\t")[0])["origin"]["generation"]
    path.unlink()
    path.touch(0o600)
    path.write_bytes(backup)
    if generation is None and path.stat().st_ino == inode:
        pytest.skip(
            "the file system gives a new file the inode of the last one, and tells no generation"
        )
    with pytest.raises(SessionError, match="moved=True"):
        Session.resume(path)
    # Resumed all the same it is another path: what refusing is for.
    with Session.resume(path, moved=True) as session:
        assert session.value(0.5) != told


def test_files_that_know_no_generation_are_resumed_and_learn_it(asked, path, tmp_path):
    told = asked.value(0.5)
    asked.suspend()
    opened, records = journal.Journal.open(path)
    opened.close()
    older = journal.Journal.create(tmp_path / "older")
    known = older.origin()
    records[0]["origin"] = {name: known[name] for name in ("path", "inode")}
    older.append(records)
    older.close()
    with Session.resume(older.path) as session:
        assert session.value(0.5) == told
    opened, records = journal.Journal.open(older.path)
    opened.close()
    assert [record["moved"] for record in records if "moved" in record] == [known]


@pytest.mark.parametrize("loss", ["removed", "replaced", "written"])
def test_nothing_is_answered_when_the_file_is_lost(asked, path, drawn, loss):
    told = asked.value(0.5)
    before = list(drawn)
    if loss == "removed":
        path.unlink()
    elif loss == "replaced":
        shutil.copy2(path, path.with_name("copy"))
        os.replace(path.with_name("copy"), path)
    else:
        with path.open("ab") as handle:
            handle.write(b"something")
    words = "written to by something else" if loss == "written" else "removed or replaced"
    with pytest.raises(SessionError, match=words):
        asked.value(0.7)
    assert drawn == before
    assert asked.answers()[0].value == told


# --- damage ---


def test_a_last_line_that_was_cut_short_is_dropped(asked, path):
    asked.values([0.2, 0.9])
    before = path.read_bytes()
    asked.value(1.3)
    asked.suspend()
    whole = path.read_bytes()
    for length in [*range(len(before) + 1, len(whole), 67), len(whole) - 1]:
        for tail in (b"", bytes(9), bytes(9) + b"\n"):
            path.write_bytes(whole[:length] + tail)
            with Session.resume(path) as session:
                assert [row.query["at"] for row in session.answers()] == [0.2, 0.9]
            # What was drawn is dropped with its line, and kept once the line is whole.
            drawn_line = whole[: whole.index(b"\n", len(before)) + 1]
            assert path.read_bytes() == (before if length < len(drawn_line) else drawn_line)


def test_a_damaged_line_is_refused(asked, path):
    asked.values([0.2, 0.9, 1.3])
    asked.suspend()
    whole = path.read_bytes()
    ends = [match.start() for match in re.finditer(b"\n", whole)]
    # The header, three draws, three answers.
    assert len(ends) == 7
    for number, end in enumerate(ends):
        for place in (end - 100, end - 20):
            wrong = bytearray(whole)
            wrong[place] ^= 1
            path.write_bytes(wrong)
            with pytest.raises(StorageError, match=f"Line {number + 1} of .* is damaged.*drawn again"):
                Session.resume(path)
    lines = whole.splitlines(keepends=True)
    for shuffled in (lines[:1] + lines[2:], [lines[0], lines[2], lines[1], *lines[3:]]):
        path.write_bytes(b"".join(shuffled))
        with pytest.raises(StorageError, match=r"Line 2 of .* is damaged"):
            Session.resume(path)
    path.write_bytes(whole)
    Session.resume(path).suspend()


def test_files_that_are_no_session_are_refused(path):
    path.touch(0o600)
    for content, words in (
        (b"", "holds no session.*Name another file, or move this one away"),
        (b"{}\tabc\n", "Line 1 of"),
        (b"text", "holds no"),
    ):
        path.write_bytes(content)
        with pytest.raises(StorageError, match=words):
            Session.resume(path)
    path.unlink()
    made = journal.Journal.create(path)
    made.append([{"format": "dpfda-ledger", "schema_version": 1}])
    made.close()
    with pytest.raises(
        StorageError, match="must be a session of schema version 1; found 'dpfda-ledger'"
    ):
        Session.resume(path)


# --- crashes ---


class Died(BaseException):
    """The process is gone: nothing that it would have done afterwards happens."""


class Machine:
    """Calls of the operating system that end the process at the n-th, or fail there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, calls: tuple[str, ...]) -> None:
        self._left = math.inf
        self._dead = False
        self._half = False
        self.fails_with: BaseException = Died()
        for name in calls:
            monkeypatch.setattr(journal.os, name, self._failing(getattr(os, name)))

    def die_at(self, number: float, half: bool) -> None:
        self._left, self._half, self._dead = number, half, False

    def _failing(self, real: Any) -> Any:
        def call(*arguments: Any) -> Any:
            if self._dead:
                raise self.fails_with
            self._left -= 1
            if self._left > 0:
                return real(*arguments)
            self._dead = isinstance(self.fails_with, Died)
            if real is OS_WRITE and self._half:
                real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            elif not self._half:
                real(*arguments)
            raise self.fails_with

        return call


OS_WRITE, OS_FSYNC = os.write, os.fsync


def test_what_was_drawn_is_on_the_disk_before_the_answer_is_told(asked, path, monkeypatch, drawn):
    """At every sync the file holds all bits drawn so far; one sync for bits, one for answers."""
    synced = []

    def watched(descriptor: int) -> None:
        assert os.fstat(descriptor).st_ino == path.stat().st_ino
        assert kept(path) == drawn
        synced.append(len(asked.answers()))
        OS_FSYNC(descriptor)

    monkeypatch.setattr(journal.os, "fsync", watched)
    asked.value(0.3)
    assert synced == [0, 0]
    asked.values([0.5, 0.7, 0.9])
    # None of the three is among the answers yet.
    assert synced == [0, 0, 1, 1]
    asked.value(0.5)
    assert synced == [0, 0, 1, 1]
    assert len(asked.answers()) == 4


@pytest.mark.parametrize("half", [False, True])
def test_death_at_every_step_never_draws_again_what_was_told(path, monkeypatch, drawn, half):
    """The process dies at its n-th write, sync or cut; another goes on, for n = 1, 2, .."""
    machine = Machine(monkeypatch, ("write", "fsync", "ftruncate"))
    told: dict[float, float] = {}
    queries = iter(np.linspace(0.05, 1.95, 400))
    session = mean(basis=CosineBasis.on_grid(21, GRID)).open_session(CURVES, path)
    lost, deaths = 0, 0
    for step in itertools.islice(itertools.cycle(range(1, 6)), 30):
        machine.die_at(step, half)
        try:
            for point in itertools.islice(queries, 3):
                told[point] = session.value(point)
        except Died:
            deaths += 1
        machine.die_at(math.inf, half)
        session.suspend()
        session = Session.resume(path)
        in_file = kept(path)
        # What was drawn is in the file, in order, but for draws of which nothing was told.
        assert set(in_file) <= set(drawn)
        lost = len(drawn) - len(in_file)
        assert lost <= 2 * deaths
        before = len(drawn)
        assert {point: session.value(point) for point in told} == told
        assert len(drawn) == before
    session.suspend()
    # By the bits alone, without the record of answers.
    with Session.resume(without_answers(path), moved=True) as resumed:
        before = len(drawn)
        assert {point: resumed.value(point) for point in told} == told
        assert len(drawn) == before
    assert len(kept(path)) == 2 * 21
    assert deaths > 10
    assert (lost > 0) == half


def test_a_full_disk_stops_the_session_until_it_is_resumed(path, monkeypatch, drawn):
    machine = Machine(monkeypatch, ("write",))
    machine.fails_with = OSError(28, "No space left on device")
    session = mean().open_session(CURVES, path)
    told = session.value(0.3)
    machine.die_at(1, half=True)
    with pytest.raises(
        StorageError, match=r"could not be written: No space left on device.*Mend the disk"
    ):
        session.value(0.9)
    machine.die_at(math.inf, half=False)
    # Not even now: what was drawn is not in the file.
    with pytest.raises(SessionError, match="is suspended"):
        session.value(0.9)
    with Session.resume(path) as resumed:
        assert len(resumed.answers()) == 1
        assert resumed.value(0.3) == told
        resumed.value(0.9)
    assert len(drawn) == 6
    assert kept(path) == drawn[:2] + drawn[4:]


@pytest.mark.parametrize("sync", [1, 2], ids=["of the bits", "of the answer"])
def test_what_a_crash_kept_but_did_not_tell_is_the_answer(path, monkeypatch, drawn, sync):
    machine = Machine(monkeypatch, ("fsync",))
    session = mean().open_session(CURVES, path)
    machine.die_at(sync, half=False)
    monkeypatch.setattr(journal.os, "ftruncate", lambda *_: (_ for _ in ()).throw(Died()))
    with pytest.raises(Died):
        session.value(0.9)
    assert session.answers() == []
    machine.die_at(math.inf, half=False)
    with Session.resume(path) as resumed:
        assert len(resumed.answers()) == sync - 1
        before = list(drawn)
        value = resumed.value(0.9)
        assert value == resumed.answers()[0].value
        assert drawn == before == kept(path)
        assert len(drawn) == 2


class Quota:
    """A disk that takes so many more bytes, then refuses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = math.inf
        monkeypatch.setattr(journal.os, "write", self._write)

    def _write(self, descriptor: int, data: Any) -> int:
        if self.left <= 0:
            raise OSError(28, "No space left on device")
        done = OS_WRITE(descriptor, bytes(data)[: int(min(self.left, len(data)))])
        self.left -= done
        return done


def test_a_disk_too_small_by_any_number_of_bytes_never_redraws_what_was_used(path, monkeypatch, drawn):
    """At every 13th byte: bits that any answer was computed from are in the file, and answer again."""
    quota = Quota(monkeypatch)
    mean().open_session(CURVES, path).suspend()
    empty = path.read_bytes()
    computed: list[float] = []
    told = Posed.answer
    monkeypatch.setattr(Posed, "answer", lambda *a: computed.append(told(*a)) or computed[-1])
    outcomes = set()
    for room in itertools.count(0, 13):
        path.write_bytes(empty)
        drawn.clear(), computed.clear()
        session = Session.resume(path)
        quota.left = room
        with suppress(StorageError):
            session.values([0.4, 1.3])
        told_all = len(session.answers()) == 2
        session.suspend()
        quota.left = math.inf
        first, bits = list(computed), list(drawn)
        assert kept(path) == (bits if first else [])
        with Session.resume(path) as resumed:
            again = resumed.values([0.4, 1.3]).tolist()
            assert len(drawn) == len(bits) + (0 if first else 4)
        assert first in ([], again)
        outcomes.add((bool(first), told_all))
        if told_all:
            break
    assert outcomes == {(False, False), (True, False), (True, True)}


def test_no_record_is_longer_for_other_bits_sums_or_answers(tmp_path, monkeypatch):
    """Bits that begin with zeros, with ones, or are fair; sums of zero; answers of any size."""
    lengths = set()
    for name, bits in {
        "zero": lambda count: 2 ** (count - 56),
        "one": lambda count: 2**count - 2 ** (count - 56),
        **dict.fromkeys("abcdefgh", exactness.system_bits),
    }.items():
        monkeypatch.setattr(exactness, "system_bits", bits)
        curves = {"zero": 0 * CURVES, "one": CURVES[:1] * 0 + np.sign(CURVES)}.get(name, CURVES)
        with mean().open_session(curves, tmp_path / f"{name:>4}") as session:
            session.values([0.25, 0.75])
            session.inner(np.cos)
        lines = (tmp_path / f"{name:>4}").read_bytes().splitlines()
        # The number of digits of the inode is public.
        inode = len(str((tmp_path / f"{name:>4}").stat().st_ino))
        lengths.add((len(lines[0]) - inode, *map(len, lines[1:])))
    assert len(lengths) == 1
    doubles = [0.0, -0.0, 1e-320, 5e-324, -1.7976931348623157e308, -2.2250738585072014e-308, 1e22]
    doubles += np.random.default_rng(1).normal(0, 1, 200).tolist()
    written = [json.dumps(answer_to_json(Answer(1, {}, value, 1.0))) for value in doubles]
    assert len(set(map(len, written))) == 1
    assert [float(json.loads(text)["value"]) for text in written] == doubles


def test_refinement_is_on_the_disk_before_it_is_used(path, monkeypatch, drawn):
    """Whether more bits are needed depends on those known; these stay if the new ones cannot be kept."""
    monkeypatch.setattr(STATE, partial(ConditionalValues, initial_bits=4))
    monkeypatch.setattr(Query, "direction", lambda *_: ((1, 0, 0, 0, 0), 0))
    with mean().open_session(CURVES, path.with_name("other")) as other:
        other.value(0.5)
    # The line of its first bits, whose length is the same for all bits.
    first = len(path.with_name("other").read_bytes().splitlines(keepends=True)[1])
    drawn.clear()
    quota = Quota(monkeypatch)
    with mean().open_session(CURVES, path) as asked:
        quota.left = first + 5
        with pytest.raises(StorageError, match="No space left"):
            asked.value(0.5)
    # Four bits never decide a rounding at the scales of a release.
    assert len(drawn) == 4
    assert kept(path) == drawn[:2]
    quota.left = math.inf
    with Session.resume(path) as resumed:
        resumed.value(0.5)
        refined = kept(path)[2:4]
        assert [value >> 4 for value in refined] == drawn[:2]
        assert [value & 15 for value in refined] == drawn[4:6]


def frames(error: BaseException | None) -> list[dict[str, Any]]:
    """Local variables of all frames of an exception and what led to it, but for those of this file."""
    found: list[dict[str, Any]] = []
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename != __file__:
                found.append(dict(trace.tb_frame.f_locals))
            trace = trace.tb_next
        error = error.__context__ or error.__cause__
    return found


@pytest.mark.parametrize("failure", [ValueError("12345"), KeyboardInterrupt(), OSError(5, "broken")])
def test_what_fails_after_drawing_shows_no_secret(asked, path, monkeypatch, drawn, failure):
    def fail(*_: Any) -> None:
        raise failure

    if isinstance(failure, OSError):
        monkeypatch.setattr(journal.os, "fsync", fail)
    else:
        monkeypatch.setattr(Posed, "answer", fail)
    kind = {ValueError: SessionError, OSError: StorageError}.get(type(failure), KeyboardInterrupt)
    with pytest.raises(kind) as raised:
        asked.value(0.3)
    assert len(drawn) == 2
    assert "12345" not in str(raised.value)
    seen = frames(raised.value)
    assert 0 < len(seen) < 6
    for secret in (*total(), *drawn):
        assert not [value for local in seen for value in local.values() if str(secret) in repr(value)]
    assert not {"total", "noise", "draws", "exact", "records", "lines"} & {n for f in seen for n in f}
    assert held(asked).isdisjoint({*total(), *drawn})


def test_an_interruption_while_drawing_suspends(asked, path, monkeypatch, drawn):
    told = asked.value(0.5)
    real = exactness.system_bits

    def interrupted(bits: int) -> int:
        real(bits)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(exactness, "system_bits", interrupted)
        with pytest.raises(KeyboardInterrupt):
            asked.value(0.9)
    with pytest.raises(SessionError, match="is suspended"):
        asked.value(0.9)
    with Session.resume(path) as session:
        assert session.value(0.5) == told
        assert session.value(0.9) != told


def test_opening_that_is_cut_short_leaves_nothing_to_answer_from(path, monkeypatch):
    machine = Machine(monkeypatch, ("write", "fsync", "ftruncate"))
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: (_ for _ in ()).throw(Died()))
    machine.die_at(1, half=True)
    with pytest.raises(Died):
        mean().open_session(CURVES, path)
    machine.die_at(math.inf, half=False)
    # The lock goes with the dead process; here its descriptor is found and closed.
    for descriptor in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with_path = Path("/proc/self/fd") / descriptor
        if with_path.is_symlink() and os.readlink(with_path) == str(path):
            os.close(int(descriptor))
    with pytest.raises(StorageError, match="opening it was cut short, before any answer"):
        Session.resume(path)


def ask_until_killed(path: Path, pipe: int, seed: int) -> None:
    """Resume and ask; tell the parent each answer once it is told."""
    generator = np.random.default_rng(seed)
    session = Session.resume(path)
    with os.fdopen(pipe, "w") as tell:
        while True:
            point = round(float(generator.uniform(0, 2)), 2)
            pair = [point, 1.0]
            if generator.random() < 0.3:
                tell.writelines(
                    f"{p} {v!r}\n" for p, v in zip(pair, session.values(pair).tolist(), strict=True)
                )
            else:
                tell.write(f"{point} {session.value(point)!r}\n")
            tell.flush()


def test_processes_killed_at_any_instant_answer_as_one(path):
    mean(basis=CosineBasis.on_grid(21, GRID)).open_session(CURVES, path).suspend()
    told: dict[str, set[str]] = {}
    generator = np.random.default_rng(5)
    deaths = 0
    # At least 25 deaths; more on a machine so busy that its processes die before they answer much.
    for seed in range(1000):
        if seed >= 25 and len(told) > 60:
            break
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                ask_until_killed(path, write, seed)
            finally:
                os._exit(1)
        os.close(write)
        time.sleep(0.02 + generator.random() * 0.12)
        os.kill(child, 9)
        deaths += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
        with os.fdopen(read) as handle:
            for line in handle:
                if line.endswith("\n"):
                    point, value = line.split()
                    told.setdefault(point, set()).add(value)
    assert deaths >= 25
    assert len(told) > 60
    assert {point: len(values) for point, values in told.items()} == dict.fromkeys(told, 1)
    with Session.resume(path) as session:
        assert {point: {repr(session.value(float(point)))} for point in told} == told
    # And all are values of one function, determined by the 21 normals in the file.
    with Session.resume(without_answers(path), moved=True) as session:
        assert {point: {repr(session.value(float(point)))} for point in told} == told
        assert len(kept(session.path)) <= 2 * 21


# --- on real curves ---


def test_a_thousand_queries_about_scans_of_persons(dti, tmp_path):
    made = PrivateMean(
        1.0,
        1e-6,
        bounds=(0.0, 1.0),
        mechanism="gaussian-process",
        reading=Reading(missing="complete"),
        unit="person",
    )
    points = np.linspace(0, 1, 1000)
    with made.open_session(dti["curves"], tmp_path / "fa", groups=dti["person"]) as session:
        told = session.values(points)
        assert len(kept(tmp_path / "fa")) == 2 * 93
        parts = session.integral(0, 0.4) + session.integral(0.4, 1)
        assert parts == pytest.approx(session.integral(), rel=1e-9)
        errors = [answer.standard_error for answer in session.answers()]
        assert np.trapezoid(told, points) == pytest.approx(parts, abs=1e-4 * max(errors))
    with Session.resume(tmp_path / "fa") as session:
        assert session.values(points).tolist() == told.tolist()
