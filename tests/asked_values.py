"""Noise values as a session asks for them, one query after another, without its file."""

from typing import Any

from dpfda.publication.session.conditional import ConditionalValues, Draw


class AskedValues(ConditionalValues):
    """Conditional values that keep what was drawn for them in memory.

    draws: All that was drawn, in its order.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.draws: list[Draw] = []

    def value(self, query: tuple[int, ...]) -> tuple[int, Draw | None]:
        """The noise value of a query, and what was drawn for it last; None where nothing was."""
        before = len(self.draws)
        self.draws.extend(self.reserve([query]))
        rounded = self.noise_of(query, self.draws.append)
        return rounded, self.draws[-1] if len(self.draws) > before else None
