"""Blocks of code and commands on the pages are tests."""

import pytest
from sybil import Sybil
from sybil.integration.pytest import SybilItem
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

from tests.pages import run_console, start, stop

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), CodeBlockParser("console", run_console), SkipParser()],
    patterns=["README.md", "docs/*.md"],
    setup=start,
    teardown=stop,
).pytest()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Blocks of a page share names, so one process runs them all."""
    for item in items:
        if isinstance(item, SybilItem):
            item.add_marker(pytest.mark.xdist_group(item.path.name))
