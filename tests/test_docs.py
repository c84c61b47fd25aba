"""What the pages tell a reader to write works as written."""

import pkgutil
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda import PrivateMean

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs").glob("appendix/*.md")),
]


def block_with(page: str, words: str) -> str:
    """The indented or fenced block of a page that contains some words."""
    text = (ROOT / page).read_text(encoding="utf-8")
    fenced = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    indented = re.findall(r"(?:^    .*\n|^\n)+", text, flags=re.M)
    blocks = fenced + [re.sub(r"^    ", "", block, flags=re.M) for block in indented]
    return next(block for block in blocks if words in block)


def test_the_readme_example_runs_as_it_stands(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(block_with("README.md", "PrivateMean(epsilon="), names)  # noqa: S102
    assert (tmp_path / "mean.json").exists()
    assert (names["release"].count, names["release"].unit) == (364, "day")


def test_a_mechanism_written_as_the_page_says_works():
    names: dict[str, object] = {}
    exec(block_with("docs/extending.md", "class TwoBlocks"), names)  # noqa: S102
    mean = PrivateMean(1.0, bounds=(0, 1), mechanism=names["TwoBlocks"]())
    release = mean.fit(np.full((10, 12), 0.4)).release_
    assert release.certificate.mechanism["name"] == "two-blocks"
    assert release.noise.block_sizes == (5, 7)


def test_commands_of_the_readme_are_marked_for_the_checks():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for mark in ("demo", "test"):
        block = re.search(rf"<!-- {mark} command -->\n\n    (.+)\n\n<!-- end -->", text)
        assert block is not None
        assert "python3 -m venv" in block.group(1)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    # A value of a release in an example, curves["case"](365.0), is no link.
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target


def test_the_reference_lists_every_public_name():
    listed = re.findall(r"^   (\w[\w.]*)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.M)
    assert [name for name in dpfda.__all__ if name not in listed] == []
    # A module of the package is one of its names once somebody has imported it: here nobody has to.
    modules = {module.name for module in pkgutil.iter_modules(dpfda.__path__)}
    assert [
        name for name in listed if not ({name} & modules or hasattr(dpfda, name) or "." in name)
    ] == []


def test_the_composition_example_gives_what_the_page_says(capsys):
    exec(block_with("docs/composition.md", "BlockLoss(dimension=20"), {})  # noqa: S102
    assert capsys.readouterr().out.startswith("(3.22")


def user_pages(page: str = "index") -> dict[str, str]:
    """The pages that the site's contents list, but those under proofs, which lists the appendices."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    contents = "".join(re.findall(r"^```\{toctree\}\n(.*?)```", text, flags=re.M | re.S))
    pages = {page: text}
    for name in set(re.findall(r"^(?!generated)\w[\w/]*$", contents, flags=re.M)) - {"proofs"}:
        pages |= user_pages(name)
    return pages


def test_user_pages_are_short_and_so_are_their_sentences():
    long, words = [], 0
    # Whoever joins reads more.
    joining = user_pages("joining")
    for page, text in user_pages().items():
        words += 0 if page in joining else len(text.split())
        prose = re.sub(r"```.*?```|<!--.*?-->|\$\$.*?\$\$|\]\([^)]*\)", " ", text, flags=re.S)
        prose = re.sub(r"`[^`]*`|\$[^$\n]+\$", "x", prose)
        # A paragraph, an item of a list, a cell of a table; in it what ends before a capital letter.
        for part in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.)\s|\||\n(?=#)", prose):
            sentences = re.split(r"(?<=[.!?])[*)\"]*\s+(?=\W*[A-Z0-9x])", part)
            long += [(page, each) for each in sentences if len(re.findall(r"\S*\w\S*", each)) > 45]
    assert long == []
    assert words <= 36_500
