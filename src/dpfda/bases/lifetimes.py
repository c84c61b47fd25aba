"""Cells of a follow-up: when it began, when it ended and how, each person in one of each; public."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from dpfda.bases.grids import check_domain, frozen
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.encoding import fields_to_json, integer, mapping, number, sequence, text
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import length, shown, whole

LARGEST = 512
CENSORED = -1
# Times are multiples of a step to this share of it.
CLOSE = 1e-9
# Edges of cells that are narrower at first, as a power of their places: hazards are often steep there.
NARROW = 1.5


@dataclass(frozen=True)
class LifeCells:
    """Cells between two public times, for events; wider ones where censoring is counted.

    Behind the cells of events, cause by cause, stand those of censoring, one for whoever was still
    followed at the end and, where follow-ups begin late, one for a beginning at the start and those of
    later beginnings. Several groups have as many each.

    Parameters
    ----------
    domain_range : (float, float)
    count : int
        Number of cells for events. Censoring has half as many where this is even: its times matter only
        through the numbers at risk.
    causes : tuple of str
        What may end a follow-up.
    levels : tuple of str
        Names of groups; none where all are together.
    late : bool
        Whether follow-ups may begin after the start.
    power : float
        Edges lie at this power of equally spaced places: 1 for cells of equal width, more for cells that
        are narrower at first.
    step : float, optional
        What all times are multiples of, from the first on: 1 for whole days. Edges are such times.

    Examples
    --------
    >>> cells = LifeCells((0.0, 12.0), 4)
    >>> cells.ends(np.array([3.0, 3.5, 3.5, 99.0]), np.array([0, 0, -1, 0]))
    array([0, 1, 4, 6])
    """

    domain_range: tuple[float, float]
    count: int
    causes: tuple[str, ...] = ("event",)
    levels: tuple[str, ...] = ()
    late: bool = False
    power: float = 1.0
    step: float | None = None

    @classmethod
    def of(cls, domain_range: Any, count: object, **more: Any) -> Self:
        """Read domain and number of cells. Raises ParameterError if one is unusable."""
        if domain_range is None:
            remedy = "The last observed time is private; state a public one, such as the planned end."
            raise ParameterError("domain", "be given, as (0, top)", "None", remedy)
        if np.shape(domain_range) != (2,):
            raise ParameterError("domain", "be one pair of ends", shown(domain_range))
        ends = check_domain(domain_range, None)
        number_of_cells = whole(count, "cells", 2, LARGEST)
        if (step := more.get("step")) is not None:
            size = length(step, "step")
            times = round((ends[1] - ends[0]) / size)
            if times < 2 or abs(times * size - (ends[1] - ends[0])) > CLOSE * (ends[1] - ends[0]):
                words = "divide the domain into two or more equal parts"
                raise ParameterError("step", words, shown(step), "Give a last time that is a multiple.")
            more, number_of_cells = {**more, "step": size}, min(number_of_cells, times)
        return cls(ends, number_of_cells, **more)

    @property
    def coarse(self) -> int:
        """Number of cells of censoring."""
        return self.count // self.ratio

    @property
    def ratio(self) -> int:
        """Cells of events in one of censoring."""
        return 2 if self.count % 2 == 0 else 1

    @property
    def groups(self) -> int:
        """Number of groups, at least one."""
        return max(1, len(self.levels))

    @property
    def exits(self) -> int:
        """Cells of one group in which a follow-up may end."""
        return len(self.causes) * self.count + self.coarse + 1

    @property
    def each(self) -> int:
        """Cells of one group."""
        return self.exits + (self.coarse + 1 if self.late else 0)

    @property
    def size(self) -> int:
        """All cells."""
        return self.groups * self.each

    @property
    def parts(self) -> int:
        """Cells that a person is in: where the follow-up ended and, where that is counted, began."""
        return 2 if self.late else 1

    @cached_property
    def edges(self) -> Floats:
        """Ends of the cells of events, (count + 1,)."""
        first, last = self.domain_range
        if self.step is not None:
            times = round((last - first) / self.step)
            places = np.rint(times * np.linspace(0, 1, self.count + 1) ** self.power)
            # One time or more in each cell.
            apart = np.arange(self.count + 1)
            places = np.maximum.accumulate(places - apart) + apart
            places = np.minimum(places, times - apart[::-1])
            return frozen(np.append(first + self.step * places[:-1], last))
        if self.power == 1:
            return frozen(np.linspace(first, last, self.count + 1))
        edges = first + (last - first) * np.linspace(0, 1, self.count + 1) ** self.power
        return frozen(np.append(edges[:-1], last))

    def settled(self, times: Floats) -> Floats:
        """Times at which curves last changed: those that all times are multiples of, where stated."""
        if self.step is None:
            return times
        first, last = self.domain_range
        whole_steps = np.floor((times - first) / self.step + CLOSE)
        return np.clip(first + self.step * whole_steps, first, last)

    def reached(self, times: Floats) -> Floats:
        """The first times at which curves change that are not before these; infinite ones stay so."""
        if self.step is None:
            return times
        first = self.domain_range[0]
        return np.asarray(first + self.step * np.ceil((times - first) / self.step - CLOSE))

    @cached_property
    def widths(self) -> Floats:
        """Width of each cell of events (count,), as a share of the domain."""
        return frozen(np.diff(self.edges) / (self.domain_range[1] - self.domain_range[0]))

    @cached_property
    def portions(self) -> Floats:
        """Width of each cell of events (count,), as a share of the cell of censoring that it is in."""
        wide = self.widths.reshape(self.coarse, self.ratio).sum(axis=1)
        return frozen(self.widths / np.repeat(wide, self.ratio))

    @cached_property
    def steps(self) -> Floats:
        """Share (count,) of each cell that a whole step of time is; none where times have no step."""
        return frozen(np.full(self.count, self.step or 0.0) / np.diff(self.edges))

    def spread(self, wide: Floats, when: int = 0) -> Floats:
        """What cells of censoring (.., coarse) hold, divided among the cells of events (.., count).

        By their widths (0), or all in the first (-1) or in the last (1) that is in the same one.
        """
        shares = self.portions
        if when:
            shares = np.tile(np.arange(self.ratio) == (self.ratio - 1) * (when > 0), self.coarse)
        return np.asarray(np.repeat(wide, self.ratio, axis=-1) * shares)

    def ends(self, times: Floats, causes: Integers) -> Integers:
        """Cell in which each follow-up ended, within its group; entry i depends on person i alone.

        times: array (n,). No NaN. An event at an edge belongs to the cell before it, censoring to the
            one after it: at one time, events come first. What comes after the last edge was still
            followed there.
        causes: array (n,) of int. Number of the cause; -1 where the follow-up was censored.
        """
        event = np.clip(np.searchsorted(self.edges, times, "left") - 1, 0, self.count - 1)
        wide = self.edges[:: self.ratio]
        censored = np.clip(np.searchsorted(wide, times, "right") - 1, 0, self.coarse - 1)
        last = self.edges[-1]
        beyond = (times > last) | ((times >= last) & (causes == CENSORED))
        events = len(self.causes) * self.count
        places = np.where(causes == CENSORED, events + censored, causes * self.count + event)
        return np.asarray(np.where(beyond, self.exits - 1, places), dtype=np.int64)

    def begins(self, starts: Floats) -> Integers:
        """Cell in which each follow-up began, within its group."""
        wide = self.edges[:: self.ratio]
        later = np.clip(np.searchsorted(wide, starts, "right"), 1, self.coarse)
        return np.asarray(self.exits + np.where(starts <= wide[0], 0, later), dtype=np.int64)

    def describe(self) -> str:
        """Say in words what is counted."""
        kinds = f"{len(self.causes)} causes" if len(self.causes) > 1 else "events"
        groups = f" in each of {len(self.levels)} groups" if self.levels else ""
        late = ", and of beginnings" if self.late else ""
        sizes = "equal cells of time" if self.power == 1 else "cells of time, narrower at first,"
        if self.step is not None:
            sizes = f"{sizes.rstrip(',')}, of whole steps of {self.step:g},"
        return (
            f"{self.count} {sizes} for {kinds}, {self.coarse} for censoring{late}{groups} "
            f"on [{self.domain_range[0]:g}, {self.domain_range[1]:g}]"
        )

    def to_json(self) -> dict[str, object]:
        """The cells as JSON types."""
        written = fields_to_json(self)
        return {name: value for name, value in written.items() if name != "step" or value is not None}

    @classmethod
    def from_json(cls, entries: object) -> Self:
        """The cells again; whatever does not fit raises a `ValueError`."""
        written = mapping(entries)
        first, last = (number(end) for end in sequence(written["domain_range"]))
        count = integer(written["count"], 2, LARGEST)
        causes, levels = (
            tuple(text(label) for label in sequence(written[key])) for key in ("causes", "levels")
        )
        unique = all(len(set(names)) == len(names) for names in (causes, levels))
        if not first < last or not causes or not unique or len(levels) == 1:
            raise ValueError("cells of a follow-up that cannot be")
        if type(written["late"]) is not bool:
            raise ValueError("not a yes or no")
        power = number(written.get("power", 1.0))
        if not 1 <= power <= 4:
            raise ValueError("edges of cells that cannot be")
        step = None if "step" not in written else number(written["step"])
        if step is not None and not 0 < step <= (last - first) / count * (1 + CLOSE):
            raise ValueError("a step of times that cannot be")
        return cls((first, last), count, causes, levels, written["late"], power, step)
