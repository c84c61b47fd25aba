"""The session: charge once for the whole path, then answer functionals one at a time.

**Guarantee.** Let S be the exact integer sum, Z the Gaussian noise of a whole release, and Y = S + Z.
The mechanism that publishes Y has the guarantee that was charged. A query is an integer vector m
(and a public scale), its answer

    <m, S> + round(<m, Z>) = round(<m, Y>),

equal because <m, S> is an integer: a function of Y and of the query. Each query may depend on
earlier answers and on anything else but the data and the secret state. By
`dpfda.publication.session.conditional`
the noise values, drawn one at a time, have jointly the law that they have for one Z drawn before the
first query. So the transcript is post-processing of Y, and has its guarantee, however many queries
are asked, in whatever order, and whenever they stop.

**What is secret.** The state: S, and the bits of the normals. With them every answer can be stripped
of its noise. Losing them and drawing anew would answer from a second Z, and the average of two answers
has less noise than was paid for. So a draw is on the disk before anything is computed from it, and no
record's length depends on the bits or on the answer: a write that fails says nothing of either.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dpfda.noise import GaussianNoise, NoiseLaw
from dpfda.noise.elliptical import StudentForms
from dpfda.numerics import parameters
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import ParameterError, SessionError
from dpfda.numerics.parameters import flag, reals, shown, whole
from dpfda.privacy.certificates import Certificate, said_by
from dpfda.publication import pay
from dpfda.publication.session import queries, records
from dpfda.publication.session.conditional import ConditionalValues, Draw
from dpfda.publication.session.journal import Journal, Record
from dpfda.releases.answers import Answer
from dpfda.releases.function import ReleasedFunction


class Session(records.Resumable):
    """Point values, derivatives, integrals and inner products of one Gaussian release, one at a time.

    Every answer is that of one noisy path, whose guarantee is charged once, when the session is opened.
    The noise of a new query is drawn from its exact conditional law given all answers before; the
    same query has the same answer; linear relations between queries hold between their answers,
    up to rounding of floats. What is never asked is never drawn.

    Make one with `open`, or go on with one from its file with `resume`. In a ``with`` statement it is
    suspended at the end.

    Attributes
    ----------
    path : Path
        Its file. **Secret**: whoever reads it can take the noise off every answer.

    Notes
    -----
    A session is not the only way to ask several queries: `PrivateMean.fit` releases the whole function
    at the same price, and its file holds nothing secret.

    References
    ----------
    Hall, Rinaldo & Wasserman (2013) for the process; Reimherr & Awan (2019), section 1, for drawing "as
    much of the noise as is needed" given earlier draws; Balle & Wang (2018) for the scale. The proof is
    in the documentation, page "Sessions".

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from dpfda import PrivateMean
    >>> curves = np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.2, 0.2, 50)[:, None]
    >>> mean = PrivateMean(1.0, 1e-6, bounds=(-1.5, 1.5), domain=(0, 3), mechanism="gaussian")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     session = mean.open_session(curves, pathlib.Path(folder) / "mean.session")
    ...     first = session.value(1.5)
    ...     same = session.value(1.5) == first
    ...     session.close()
    >>> same
    True
    """

    def __init__(
        self,
        journal: Journal,
        frame: ReleasedFunction,
        total: tuple[int, ...],
        noise: GaussianNoise | StudentForms,
    ) -> None:
        super().__init__(journal)
        self._frame = frame
        self._total: tuple[int, ...] | None = total
        self._law = noise
        self._degrees = noise.degrees if isinstance(noise, StudentForms) else None
        values = ConditionalValues(noise.scales, degrees=self._degrees or 0)
        self._values: ConditionalValues | None = values
        self._answers: dict[str, Answer] = {}

    @classmethod
    def open(
        cls,
        estimator: queries.Estimator,
        X: object,
        path: str | Path,
        groups: object = None,
        questions: int | None = None,
    ) -> Self:
        """Charge for the whole path, or for a number of questions, and start answering.

        Parameters
        ----------
        estimator : PrivateMean
            With its parameters set, `delta` positive and a Gaussian mechanism among them. Its ledger is
            charged. It is not fitted.
        X, groups
            As in its `fit`. Private.
        path : path
            Where the secret state is kept, on a local disk; there must be no file yet.
        questions : int, optional
            Number of linearly independent functionals that will be answered at most, for a pure epsilon
            (delta of 0): all are charged now. Public. A functional that earlier ones determine is free.

        Raises
        ------
        ParameterError
            If the class has a `fit` of its own, which would not be heard; nothing was charged.
        RefusedMechanismError
            If the noise is not Gaussian; nothing was charged.
        BudgetError
            If the ledger refuses.
        StorageError
            If the file exists or cannot be made; nothing was charged.
        """
        if not hasattr(estimator, "prepare"):
            raise ParameterError("estimator", "be a mean that is to be released", shown(estimator))
        estimator._check_road("open_session")
        if questions is not None:
            estimator = queries.with_questions(estimator, questions)
        prepared = estimator.prepare(X, groups)
        plan = prepared.plan
        queries.check_plan(plan)
        journal = Journal.create(path)
        try:
            paid = pay(prepared.total, plan, estimator._paying())
            noise = queries.checked_noise(paid.design.noise, plan.guarantee)
            nothing = [0] * noise.components
            # The exact sum: it goes to the secret state and leaves it with noise alone.
            frame = paid.release(tuple(nothing))
            assert isinstance(frame, ReleasedFunction)  # noqa: S101 - by `check_plan`

            def recorded() -> tuple[int, ...]:
                total = prepared.total.with_noise(nothing, paid.design.thresholds)
                journal.append([records.header_to_json(journal, frame, total)])
                return total

            total = records.sealed(recorded)
        except BaseException:
            journal.discard()
            raise
        return cls(journal, frame, total, noise)

    @classmethod
    def resume(cls, path: str | Path, kernel: object = None, moved: bool = False) -> Self:
        """Go on with a session from its file.

        Parameters
        ----------
        path : path
            The file.
        kernel : callable, optional
            The kernel, where the release was made with a custom function.
        moved : bool
            Say that the file was moved on purpose and that no other copy of it will be resumed. Two
            copies that answer are two draws of the noise: their answers, averaged, have less noise
            than was paid for.

        Raises
        ------
        SessionError
            If it is open elsewhere, or is not where it was made.
        StorageError
            If the file is missing, damaged, readable by others, or holds no session.
        """
        flag(moved, "moved")
        return records.sealed(lambda: cls._resumed(path, kernel, moved))

    @classmethod
    def _resumed(cls, path: str | Path, kernel: object, moved: bool) -> Self:
        journal, lines = Journal.open(path)
        with records.undamaged(journal):
            header = records.checked_header(lines, journal, moved)
            frame = ReleasedFunction.from_json(header["release"], kernel)
            noise = queries.checked_noise(frame.noise, frame.guarantee)
            total = tuple(int(value, 16) for value in header["total"])
            session = cls(journal, frame, total, noise)
            for record in lines[1:]:
                session._replay(record)
            records.take_over(journal, lines)
        return session

    certificate: Certificate = said_by(
        "_frame.certificate", "What was promised and charged for all queries together. Public."
    )
    noise: NoiseLaw = said_by("_frame.noise", "The law of the noise. Public.")

    def value(self, point: float) -> float:
        """The function's value at a point of the domain, in the units of the data."""
        return self._ask([queries.value_at(point, self._frame)])[0]

    def values(self, points: ArrayLike) -> Floats:
        """Values at points (k,): k queries, written to the disk together."""
        at = reals(points, "points")
        wanted = [queries.value_at(point, self._frame) for point in at.ravel()]
        return np.array(self._ask(wanted)).reshape(at.shape)

    def derivative(self, point: float, order: int = 1) -> float:
        """The derivative at a point, in units of the data per unit of the domain (to the order).

        Raises
        ------
        ParameterError
            If the basis functions have no such derivative.
        """
        wanted = whole(order, "order", 1, 2, "be 1 or 2")
        return self._ask([queries.value_at(point, self._frame, wanted)])[0]

    def integral(self, start: float | None = None, end: float | None = None) -> float:
        """The integral from `start` to `end`, by default over the domain."""
        return self._ask([queries.integral_over(start, end, self._frame)])[0]

    def inner(self, function: Callable[[Floats], ArrayLike], label: str | None = None) -> float:
        """The integral over the domain of the function times a public one.

        Parameters
        ----------
        function : callable
            Takes an array of points and returns their values. Public.
        label : str, optional
            What to call it in the history; by default its name.
        """
        return self._ask([queries.inner_with(function, label, self._frame)])[0]

    def answers(self) -> list[Answer]:
        """All answers so far, in order. Public."""
        return list(self._answers.values())

    def to_json(self) -> Json:
        """The public side as JSON types: guarantee, neighbours, unit, bound and every answer."""
        return records.public_side(self._frame, self.answers()).to_json()

    def export(self, path: str | Path, overwrite: bool = False) -> Path:
        """Write the public side to a JSON file; nothing secret is in it.

        Raises
        ------
        ParameterError
            If the path is that of the session's own file.
        StorageError
            If there is another, unless it may be overwritten.
        """
        target = parameters.path(path)
        own = Path(os.path.realpath(target)) == self.path
        if self._state != "closed" and (own or _same_file(target, self.path)):
            words = "not be the session's own file, which keeps the secret state"
            raise ParameterError("path", words, repr(str(path)), "Choose another path.")
        return records.public_side(self._frame, self.answers()).save(path, overwrite)

    def __repr__(self) -> str:
        frame = self._frame
        start, end = frame.domain_range
        lines = {
            "guarantee": f"{frame.guarantee}, for all queries together",
            "neighbours": frame.neighbours.describe(frame.unit),
            "privacy unit": frame.unit,
            "bound": frame.certificate.bound["description"],
            "mechanism": f"{frame.certificate.mechanism['name']}: {frame.noise.describe()}",
            "answered": f"{len(self._answers)} queries",
            "secret state": "destroyed" if self._state == "closed" else str(self.path),
        }
        head = f"Session on [{start:g}, {end:g}], {self._state}"
        return "\n".join([head, *(f"  {name + ':':<14}{text}" for name, text in lines.items())])

    def _ask(self, wanted: Iterable[queries.Query]) -> list[float]:
        """Answer queries; what is drawn for new ones is on the disk before it is used."""
        batch = list(wanted)
        self._journal.check_process()
        with self._lock:
            self._check_open()
            # Everything that can be wrong with a query comes to light before noise is drawn.
            posed = {
                query.key: queries.pose(
                    query, self._frame, self._law.scales, queries.spread_of(self._law)
                )
                for query in batch
                if query.key not in self._answers
            }
            if posed:
                records.sealed(lambda: self._check_questions(posed))
                try:
                    new = records.sealed(lambda: self._drawn(posed))
                except BaseException:
                    # What was drawn may or may not be on the disk; only the file knows.
                    self.suspend()
                    raise
                self._answers |= new
            return [self._answers[query.key].value for query in batch]

    def _check_questions(self, posed: dict[str, queries.Posed]) -> None:
        """Refuse more functionals than were paid for; what is known already is none."""
        if not isinstance(self._law, StudentForms) or self._law.forms == self._law.size:
            return
        values, _ = self._secrets()
        wanted = values.directions_with(query.direction for query in posed.values())
        if wanted > self._law.forms:
            raise SessionError(
                f"The session was opened for at most {self._law.forms} linearly independent questions; "
                f"with these it would answer {wanted}. None of them was answered. Ask what was asked "
                "before again, or open another session, which is charged as one."
            )

    def _drawn(self, posed: dict[str, queries.Posed]) -> dict[str, Answer]:
        """Public answers to new queries: post-processing of the integers <m, S> + round(<m, Z>).

        First the bits, then the answers go to the disk. If the second write fails, the first stays, and
        the same answers follow from it.
        """
        values, total = self._secrets()
        self._journal.check()
        draws = values.reserve(query.direction for query in posed.values())
        if draws:
            self._journal.append([records.draw_to_json(draw) for draw in draws])
        new: dict[str, Answer] = {}
        for number, (key, query) in enumerate(posed.items(), len(self._answers) + 1):
            noise = values.noise_of(query.direction, self._keep)
            exact = sum(m * entry for m, entry in zip(query.direction, total, strict=True))
            value = query.answer(exact + noise)
            new[key] = Answer(number, query.query.words, value, query.standard_error, self._degrees)
        self._journal.append([records.answer_to_json(answer) for answer in new.values()])
        return new

    def _keep(self, draw: Draw) -> None:
        self._journal.append([records.draw_to_json(draw)])

    def _replay(self, record: Record) -> None:
        if "moved" in record:
            return
        values, _ = self._secrets()
        if "draw" in record:
            values.replay(records.draw_from_json(record["draw"]))
        if "question" not in record:
            return
        value, error = (float(record[name]) for name in ("value", "standard_error"))
        number = len(self._answers) + 1
        answer = Answer(number, record["question"], value, error, self._degrees)
        self._answers[json.dumps(answer.query, sort_keys=True)] = answer

    def _check_open(self) -> None:
        if self._state != "open":
            remedy = "" if self._state == "closed" else " Resume it with Session.resume(path)."
            raise SessionError(f"The session is {self._state} and answers nothing more.{remedy}")

    def _secrets(self) -> tuple[ConditionalValues, tuple[int, ...]]:
        if self._values is None or self._total is None:
            raise SessionError(f"The session is {self._state} and answers nothing more.")
        return self._values, self._total

    def _forget(self, state: str) -> None:
        self._values = self._total = None
        self._state = state


def _same_file(first: Path, second: Path) -> bool:
    try:
        return os.path.samefile(first, second)
    except OSError:
        return False
