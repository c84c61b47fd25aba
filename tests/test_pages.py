"""Every block of code and every command on the pages runs as it is written.

A page's blocks share their names, in order. What a block supposes to be there (curves, files) is made
by invisible blocks of the page, ``<!-- invisible-code-block: python ... -->``, or is there from the
start: `sample_names` and the files of `write_samples`. Lines of a ``console`` block that begin with
``$ dpfda`` are run; each line that the block shows after a command must be in what that prints. A
``drawn`` block is a ``console`` block, and an ``output`` block is what the block of python before it
prints; of both everything but the numbers is compared, since noise is drawn anew, and the numbers of an
``output`` block, other than p-values, to a factor of `FACTOR`. A ``toml`` block is
the file that its first line names. What names a ledger must be one of these, and what was charged is
afterwards what the releases say that they cost.
"""

import os
import re
import runpy
import shlex
import shutil
import sys
import webbrowser
from functools import partial
from pathlib import Path
from socketserver import BaseServer
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from sybil import Example, Sybil
from sybil.evaluators.skip import Skipper
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from typer.testing import CliRunner

from dpfda import Ledger, PrivateDensity
from dpfda.front.app import app
from dpfda.front.verbs import declared_verbs
from dpfda.front.verbs.ledger import VERB as LEDGER_VERBS
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.ledger import Amount, AnyLedger

pytestmark = pytest.mark.usefixtures("few_draws", "few_trials")

POINTS = 93
# Noise moves what is printed by less, and a page that tells of an earlier version is found.
FACTOR = 2.5
# By how much a closer radius gains is a matter of chance, as the page says.
VARYING = ("two_looks.md",)
# Commands that are not the program's: they are tried elsewhere, or take long.
FOREIGN = re.compile(r"(pip|python|python3|export|git|pytest|R|Rscript|cd|\.\./dpfda-env/bin/)\b")


def sample_names() -> dict[str, Any]:
    """The names that pages suppose: waves of sixty persons, two each, and who they are."""
    steps = np.linspace(0, 1, POINTS)
    random = np.random.default_rng(7)
    levels = 0.5 + 0.1 * random.normal(size=(120, 1))
    curves = np.clip(levels + 0.15 * np.sin(5 * steps), 0, 1)
    person = np.repeat(np.arange(60), 2)
    case = np.where(person % 2, "case", "control")
    first, second = curves[:60], curves[60:]
    return {
        "np": np, "t": steps, "s": 0.3, "X": curves, "curves": curves,
        "mean": curves.mean(axis=0).round(2), "person": person, "subject": person, "case": case,
        "new_points": curves[:5], "public_curves": first, "some_curves": first, "other_curves": second,
        "monday": first, "tuesday": second,
    }  # fmt: skip


def write_samples(folder: Path, names: dict[str, Any]) -> None:
    """The files that pages speak of: data of nobody."""
    random = np.random.default_rng(8)
    header = ["ID", "visit", "case", *(f"cca_{k + 1}" for k in range(POINTS))]
    known = zip(names["person"], names["case"], names["curves"], strict=True)
    rows = [
        [who, k % 2, int(case == "case"), *curve.round(4)] for k, (who, case, curve) in enumerate(known)
    ]
    table(folder / "scans.csv", header, rows)
    table(folder / "new_scans.csv", header, rows[:5])
    ages = np.clip(random.normal(55, 15, size=400), 18, 90).round(1)
    pressures = (100 + 0.5 * ages + random.normal(0, 10, size=400)).round(1)
    table(folder / "visits.csv", ["age", "pressure"], [*zip(ages, pressures, strict=True)])
    table(folder / "people.csv", ["age"], [[age] for age in ages])
    hours = np.arange(24)
    loads = 3 + np.sin(hours / 4) + random.normal(0, 0.4, size=(600, 1))
    table(
        folder / "loads.csv",
        ["household", *hours],
        [[who, *load.round(3)] for who, load in enumerate(loads)],
    )
    table(folder / "riders.csv", [*range(28)], (12 + random.normal(size=(300, 28))).round(2).tolist())
    incomes = np.exp(random.normal(10, 1, size=400)).round()
    table(folder / "incomes.csv", ["person", "income"], [*zip(range(400), incomes, strict=True)])
    follow_ups = zip(random.exponential(400, 120).round(), random.integers(1, 3, 120), strict=True)
    table(folder / "lung.csv", ["time", "status"], [*follow_ups])
    years, died = random.exponential(6, 400).round(2), random.integers(0, 2, 400)
    trial = zip(range(400), years, died, random.uniform(40, 90, 400), ["a", "b"] * 200, strict=True)
    table(folder / "trial.csv", ["patient", "years", "died", "age", "arm"], [*trial])


def table(path: Path, header: list[str], rows: list) -> None:
    """A table of comma-separated values."""
    lines = [header, *rows]
    path.write_text("\n".join(",".join(map(str, line)) for line in lines) + "\n", encoding="utf-8")


def run_console(example: Example, drawn: bool = False) -> None:
    """Run a console block, a command after the other, and compare what is printed."""

    for command, said in commands(example.parsed):
        if FOREIGN.match(command):
            continue
        name, *arguments = shlex.split(os.path.expandvars(command), comments=True)
        assert name == "dpfda", f"{command}: neither the program nor a command known to be foreign"
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, f"{command}\n{result.output}\n{result.exception}"
        if drawn:
            assert without_numbers("\n".join(said)) in without_numbers(result.output), result.output
        else:
            for line in filter(None, said):
                assert line in result.output, f"{command}\n{result.output}"


def without_numbers(text: str) -> str:
    """A text with one space between words and a mark in the place of every number."""
    return " ".join(re.sub(r"-?\d[\d.]*(e[+-]?\d+)?", "#", text).split())


def compared(example: Example) -> None:
    """An output block: what was printed before it is compared where pages are run."""


def alike(said: str, printed: str) -> bool:
    """Whether the numbers of two texts, p-values apart, differ by a factor of at most `FACTOR`."""
    said, printed = (re.sub(r"p = \S+", "", text) for text in (said, printed))
    pairs = zip(
        *(re.findall(r"-?\d[\d.]*(?:e[+-]?\d+)?", text) for text in (said, printed)), strict=True
    )
    return all(
        one == other or (other != 0 and 1 / FACTOR <= one / other <= FACTOR)
        for one, other in ((float(one), float(other)) for one, other in pairs)
    )


def write_settings(example: Example) -> None:
    """Write a block to the file that its comment names."""
    name = re.match(r"# (\S+\.toml)\b", example.parsed)
    assert name, "a toml block must begin with the name of its file"
    Path(name[1]).write_text(example.parsed, encoding="utf-8")


def commands(block: str) -> list[tuple[str, list[str]]]:
    """Commands of a console block, each with the lines of output that it shows; "..." is any."""
    found: list[tuple[str, list[str]]] = []
    for line in re.sub(r"\\\n\s*", "", block).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and line.strip() != "...":
            found[-1][1].append(line.rstrip())
    return found


ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs").glob("appendix/*.md")),
]
BLOCKS = Sybil(
    [
        PythonCodeBlockParser(),
        CodeBlockParser("console", run_console),
        CodeBlockParser("drawn", partial(run_console, drawn=True)),
        CodeBlockParser("toml", write_settings),
        CodeBlockParser("output", compared),
        SkipParser(),
    ]
)
# Languages of blocks that show nothing to be run.
PROSE = re.compile(r"text|\{[a-z-]+\}|\{figure\} \S+")


def interrupted(server: BaseServer, poll_interval: float = 0.5) -> None:
    """Ctrl-C."""
    raise KeyboardInterrupt


def naming_a_ledger(text: str) -> list[int]:
    """Lines on which blocks of code begin that name a ledger, fenced or indented."""
    fence = r"^([ \t]*)(`{3,})([^\n`]*)\n(.*?)^\1\2[ \t]*$"
    fenced = [
        match
        for match in re.finditer(fence, text, flags=re.S | re.M)
        if not PROSE.fullmatch(match[3].strip())
    ]
    rest = re.sub(fence, lambda match: re.sub(r"[^\n]", ".", match[0]), text, flags=re.S | re.M)
    # Text of a list is indented too; code begins four columns deeper than a paragraph.
    indented = [*re.finditer(r"(?<=\n\n)(?: {4,}\S[^\n]*\n)+", rest)]
    found = [match for match in (*fenced, *indented) if re.search(r"ledger", match[0], re.I)]
    return sorted(text[: match.start()].count("\n") + 1 for match in found)


class Books:
    """Ledgers that were given budgets, and what certificates say that releases cost."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.ledgers: dict[str, AnyLedger] = {}
        self.certificates: dict[str, Certificate] = {}
        create, certify = AnyLedger.create, Certificate.__post_init__

        def created(ledger: AnyLedger, *given: Any, **named: Any) -> AnyLedger:
            self.ledgers[str(getattr(ledger, "path", id(ledger)))] = ledger
            return create(ledger, *given, **named)

        def certified(certificate: Certificate) -> None:
            certify(certificate)
            # The first of an identity is the whole; those after it may be parts.
            self.certificates.setdefault(certificate.identity, certificate)

        patch.setattr(AnyLedger, "create", created)
        patch.setattr(Certificate, "__post_init__", certified)

    def check(self) -> None:
        """Each charge is of one release and what that says it cost, and they add up to what is spent."""
        for ledger in self.ledgers.values():
            ledger.check()
            for dataset in ledger.datasets():
                made = [self.certificates[str(row["release"])] for row in ledger.releases(dataset)]
                assert len({certificate.identity for certificate in made}) == len(made)
                charged = [row.cost for row in ledger.history(dataset) if row.action == "charge"]
                assert charged == [Amount.of(certificate.guarantee) for certificate in made]
                assert {certificate.unit for certificate in made} == {ledger.budget(dataset).unit}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_runs(page, tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "docs" / "files", tmp_path, dirs_exist_ok=True)
    # Whoever opens a page that is served looks elsewhere, and stops it at once.
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    monkeypatch.setattr(BaseServer, "serve_forever", interrupted)
    document = BLOCKS.parse(page)
    document.namespace.update(sample_names())
    write_samples(tmp_path, document.namespace)
    books, ran = Books(monkeypatch), set()
    for example in document.examples():
        own = example.region.evaluator
        if own is compared:
            printed = capsys.readouterr().out
            assert without_numbers(example.parsed) == without_numbers(printed), printed
            assert page.name in VARYING or alike(example.parsed, printed), printed
            continue
        capsys.readouterr()
        if not isinstance(own, Skipper):

            def noted(example: Example, own: Any = own) -> None:
                own(example)
                ran.add(example.line)

            example.region.evaluator = noted
        example.evaluate()
    pyplot.close("all")
    named = naming_a_ledger(page.read_text(encoding="utf-8"))
    assert set(named) <= ran, "what names a ledger must be a block that is run"
    if named:
        assert books.ledgers
        books.check()


def test_an_output_that_is_not_printed_is_found():
    said = "Band(0.95, from 4.8 to 16.9)"
    assert without_numbers(said) == without_numbers("Band(0.95,  from -1e-5\nto 3)")
    assert without_numbers(said) != without_numbers("Band(0.95, from 4.8)")
    assert alike(said + " p = 0.03", "Band(0.95, from 3.1 to 18.2) p = 3e-05")
    assert not alike(said, "Band(0.95, from 1.8 to 16.9)")


@pytest.mark.parametrize(
    ("block", "lines"),
    [
        ("```python\nLedger(path)\n```\n", [3]),
        ("```bash\nexport DPFDA_LEDGER=b.ledger\n```\n", [3]),
        ("```\ndpfda ledger show b\n```\n", [3]),
        ("- item\n\n      reserved = ledger.reserve()\n\n", [5]),
        ("    dpfda ledger show b\n\n", [3]),
        ("```text\nthe ledger\n```\n", []),
        ("```{toctree}\nledger\n```\n", []),
        ("```python\n1\n```\nIn a ledger.\n\n    code = 1\n", []),
    ],
)
def test_a_recipe_that_names_a_ledger_is_found_in_any_form(block, lines):
    assert naming_a_ledger("Words.\n\n" + block) == lines


def test_every_command_that_help_shows_of_a_ledger_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_samples(tmp_path, sample_names())
    books = Books(monkeypatch)
    lines = [line for verb in (LEDGER_VERBS, *declared_verbs().values()) for line in verb.examples]
    # Each in the order in which they can be typed: budgets, releases, what reads them.
    steps = ("ledger create", "mean", "ledger")
    shown = dict.fromkeys(line for line in lines if re.match(r"dpfda .*ledger", line))
    ordered = sorted(
        shown,
        key=lambda line: next(
            (i for i, step in enumerate(steps) if line.startswith(f"dpfda {step}")), len(steps)
        ),
    )
    assert len(ordered) >= 8
    PrivateDensity(1, domain=(0, 1), unit="ID").fit(np.linspace(0, 1, 50)).release_.save("ages.json")
    for line in ordered:
        arguments = shlex.split(line)[1:]
        if arguments[:2] == ["ledger", "recover"]:
            # A release that could not be written where it was wanted.
            _, _, file, row, out = arguments
            kept = Path(out).rename("kept.json")
            Ledger(file).note_file("scans-2026", kept.resolve(), int(row))
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, f"{line}\n{result.output}\n{result.exception}"
    books.check()


def test_programs_that_name_a_ledger_run_to_their_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    programs = [*(ROOT / "examples").glob("*.py"), *(ROOT / "docs" / "gallery").glob("*.py")]
    named = [each for each in programs if re.search(r"ledger", each.read_text(encoding="utf-8"), re.I)]
    books = Books(monkeypatch)
    for program in named:
        # Its ledger is gone with its end: the next test.
        if program.name != "pictures.py":
            runpy.run_path(str(program), run_name="__main__")
    books.check()


def test_the_picture_of_a_ledger_is_drawn(tmp_path, monkeypatch):
    pytest.importorskip("statsmodels", reason="Other pictures are of its data.")
    monkeypatch.setattr(sys, "argv", ["pictures.py", str(tmp_path), "ledger"])
    runpy.run_path(str(ROOT / "examples" / "pictures.py"), run_name="__main__")
    assert (tmp_path / "ledger.png").is_file()
