"""Definitions of the proofs (`proofs/*.v`) as Python functions: an interpreter of what they use.

Numbers, lists and functions; `if`, `let`, `fun`, `match` on natural numbers, lists and options; infix
operations. With it a test can compare what is proved with what the program does, with Coq or without.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from operator import floordiv, mod, neg, or_, sub
from pathlib import Path
from typing import Any

PROOFS = Path(__file__).resolve().parents[1] / "proofs"
_TOKEN = re.compile(
    r"\s*(:=|=>|->|::|/\\|<=\?|<\?|=\?|<=|&&|%nat|\d+|[A-Za-z_][\w.']*|[-+*/^()\[\];:|,<=])"
)
_INFIX = [("/\\",), ("&&",), ("<=?", "<?", "=?", "<=", "<", "="), ("::",), ("+", "-"), ("*", "/")]
_KEYWORDS = {"then", "else", "in", "with", "end", "if", "let", "fun", "match"}
Scope = dict[str, Any]
Code = Callable[[Scope], Any]


def _curried(function: Callable[..., Any], count: int) -> Any:
    if count == 0:
        return function()
    return lambda first: _curried(lambda *rest: function(first, *rest), count - 1)


def _binary(name: str, whole: bool) -> Callable[[Any, Any], Any]:
    return {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": (lambda a, b: a // b if b else 0) if whole else (lambda a, b: a / b),
        **dict.fromkeys(("<=?", "<="), lambda a, b: a <= b),
        **dict.fromkeys(("<?", "<"), lambda a, b: a < b),
        **dict.fromkeys(("=?", "="), lambda a, b: a == b),
        **dict.fromkeys(("&&", "/\\"), lambda a, b: a and b),
        "::": lambda a, b: [a, *b],
    }[name]


def _toward_zero(p: int, q: int) -> int:
    size = abs(p) // abs(q)
    return size if (p < 0) == (q < 0) else -size


BUILT_IN: Scope = {
    "true": True,
    "false": False,
    "True": True,
    "False": False,
    "None": None,
    "Some": lambda x: ("Some", x),
    "O": 0,
    "Z0": 0,
    "S": lambda n: n + 1,
    "length": len,
    "exp": math.exp,
    "ln": math.log,
    "Rabs": abs,
    "sqrt": math.sqrt,
    "cos": math.cos,
    "sin": math.sin,
    "PI": math.pi,
    "fold_left": lambda f: lambda parts: lambda start: reduce(lambda a, x: f(a)(x), parts, start),
    "IZR": lambda n: n,
    "INR": lambda n: n,
    "Z.abs": abs,
    "Z.opp": neg,
    "Z.sub": _curried(sub, 2),
    "map": lambda f: lambda parts: [f(x) for x in parts],
    "Z.sgn": lambda x: (x > 0) - (x < 0),
    "Z.sqrt": lambda x: math.isqrt(max(x, 0)),
    "Z.log2": lambda x: x.bit_length() - 1 if x > 0 else 0,
    "Z.of_nat": lambda n: n,
    "Z.to_nat": lambda n: max(n, 0),
    "Z.abs_nat": abs,
    **{
        name: _curried(function, 2)
        for name, function in {
            "Z.max": max, "Z.min": min, "Rmax": max, "Rmin": min, "Z.quot": _toward_zero,
            "Nat.max": max, "Nat.div": floordiv, "Nat.modulo": mod, "Rpower": pow,
        }.items()
    },
}  # fmt: skip


class _Parser:
    """A term, from its tokens to a function of the values of its names."""

    def __init__(self, text: str, whole: bool) -> None:
        self.tokens, self.whole, end = [], whole, 0
        while end < len(text.rstrip()):
            token = _TOKEN.match(text, end)
            if token is None:
                raise ValueError(f"not understood: {text[end : end + 40]!r}")
            self.tokens.append(token[1])
            end = token.end()

    def next(self) -> str | None:
        return self.tokens[0] if self.tokens else None

    def take(self, wanted: str | None = None) -> str:
        token = self.tokens.pop(0)
        if wanted is not None and token != wanted:
            raise ValueError(f"expected {wanted}, found {token}")
        return token

    def binders(self, end: str) -> list[str]:
        """Names that are bound, up to the colon or the sign at the end."""
        names: list[str] = []
        while self.next() not in (":", end):
            if self.next() != "(":
                names.append(self.take())
                continue
            self.take("(")
            while self.next() != ":":
                names.append(self.take())
            self.skip_type(")")
            self.take(")")
        self.skip_type(end)
        self.take(end)
        return names

    def skip_type(self, end: str) -> None:
        depth = 0
        while depth or self.next() != end:
            depth += {"(": 1, ")": -1}.get(self.take(), 0)

    def term(self) -> Code:
        start = self.next()
        if start == "if":
            self.take()
            test, _, yes, _, no = (
                self.term(),
                self.take("then"),
                self.term(),
                self.take("else"),
                self.term(),
            )
            return lambda scope: yes(scope) if test(scope) else no(scope)
        if start == "let":
            self.take()
            names = self.binders(":=")
            value, _, body = _function(names[1:], self.term()), self.take("in"), self.term()
            return lambda scope: body({**scope, names[0]: value(scope)})
        if start == "fun":
            self.take()
            return _function(self.binders("=>"), self.term())
        return self.match() if start == "match" else self.infix(0)

    def match(self) -> Code:
        self.take("match")
        values, cases = [self.term()], []
        while self.next() == ",":
            self.take()
            values.append(self.term())
        self.take("with")
        while self.next() == "|":
            self.take()
            tokens = []
            while self.next() != "=>":
                tokens.append(self.take())
            self.take("=>")
            body = self.term()
            cases += [(_parted(choice, ","), body) for choice in _parted(tokens, "|")]
        self.take("end")

        def code(scope: Scope) -> Any:
            found = [value(scope) for value in values]
            for patterns, body in cases:
                names = [_matched(*pair) for pair in zip(patterns, found, strict=True)]
                if None not in names:
                    return body(reduce(or_, names, scope))
            raise ValueError("no case of a match applies")

        return code

    def infix(self, level: int) -> Code:
        if level == len(_INFIX):
            return self.power()
        left = self.infix(level + 1)
        while self.next() in _INFIX[level]:
            left = _applied(_binary(self.take(), self.whole), left, self.infix(level + 1))
        return left

    def power(self) -> Code:
        if self.next() == "-":
            self.take()
            inner = self.power()
            return lambda scope: -inner(scope)
        base = self.application()
        if self.next() != "^":
            return base
        self.take()
        return _applied(lambda a, b: a**b if b >= 0 else 0, base, self.power())

    def application(self) -> Code:
        function = self.atom()
        while (token := self.next()) and (
            token in ("(", "[") or (token[0].isalnum() and token not in _KEYWORDS) or token[0] == "_"
        ):
            function = _applied(lambda f, x: f(x), function, self.atom())
        return function

    def atom(self) -> Code:
        first = self.take()
        if first.isdigit():
            return lambda scope: int(first)
        if first == "[":
            parts = []
            while self.next() != "]":
                parts.append(self.term())
                if self.next() == ";":
                    self.take()
            self.take("]")
            return lambda scope: [part(scope) for part in parts]
        if first == "(":
            inner = self.term()
            if self.next() == ":":
                self.skip_type(")")
            self.take(")")
            if self.next() == "%nat":
                self.take()
            return inner
        return lambda scope: scope[first]


def _applied(function: Callable[[Any, Any], Any], left: Code, right: Code) -> Code:
    return lambda scope: function(left(scope), right(scope))


def _function(names: list[str], body: Code) -> Code:
    return lambda scope: _curried(
        lambda *values: body({**scope, **dict(zip(names, values, strict=True))}), len(names)
    )


def _parted(tokens: list[str], sign: str) -> list[list[str]]:
    """Tokens between signs."""
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == sign:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _matched(pattern: list[str], value: Any) -> Scope | None:  # noqa: PLR0911
    """The names that a pattern gives to the parts of a value, or None where it has another form."""
    match pattern:
        case ["O"]:
            return {} if value == 0 else None
        case ["S", name]:
            return {name: value - 1} if value > 0 else None
        case ["[", "]"]:
            return None if value else {}
        case [first, "::", rest]:
            return {first: value[0], rest: value[1:]} if value else None
        case ["None"]:
            return {} if value is None else None
        case ["Some", name]:
            return None if value is None else {name: value[1]}
        case [name]:
            return {name: value}
    raise ValueError(f"a pattern that is not understood: {pattern}")


def sentences(text: str) -> list[str]:
    """Sentences of the text of a file, without comments."""
    return re.split(r"\.(?=\s)", re.sub(r"\(\*.*?\*\)", " ", text, flags=re.DOTALL))


def definitions(
    *files: str, constants: str = "", whole: bool = True, known: Scope | None = None
) -> Scope:
    """Functions of the definitions in some files that are of the forms above; others are left out.

    Parameters
    ----------
    files : str
        Names without their ending, in the order of what they need.
    constants : str
        Text of a file before them.
    whole : bool
        Whether quotients are those of integers.
    known : dict, optional
        What else is known, such as the parts of a record; it stands for what a file says of it.
    """
    scope: Scope = {**BUILT_IN, **(known or {})}
    texts = [constants, *((PROOFS / f"{file}.v").read_text(encoding="utf-8") for file in files)]
    for sentence in (sentence for text in texts for sentence in sentences(text)):
        found = re.match(r"\s*(?:Definition|Fixpoint)\s+([\w']+)\b(.*)", sentence, re.DOTALL)
        if found is None or ":=" not in sentence or found[1] in (known or {}):
            continue
        try:
            parser = _Parser(found[2], whole)
            made = _function(parser.binders(":="), parser.term())
            if parser.tokens:
                continue
        except (ValueError, IndexError):
            continue
        with suppress(KeyError):
            scope[found[1]] = made(scope)
    return scope
