"""How the pages become a site: ``sphinx-build -W docs site``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from math_core import LatexError, LatexToMathML
from pygments.lexers.shell import BashSessionLexer
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

import dpfda

HERE = Path(__file__).parent
# Pages of the repository that the site shows, too.
ELSEWHERE = ("CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "CHANGELOG.md")

project, author = "dpfda", "the dpfda developers"
release = version = dpfda.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_substitutions = {"version": dpfda.__version__}
myst_update_mathjax = False
html_math_renderer = "mathml"
# Options such as --units stay what can be pasted.
smartquotes = False
myst_heading_anchors = 3
default_role = "literal"
numpydoc_show_class_members = False
autosummary_generate = True
# Docstrings say types in words.
autodoc_typehints = "none"
# Pages that read a folder are run where the environment names it.
PUBLIC = "" if "DPFDA_DATA_DIR" in os.environ else "[1-8]_"
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": rf"/plot_{PUBLIC}",
    "ignore_pattern": "plot_9" if PUBLIC else "^$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "show_memory": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "plot_gallery": True,
}
html_theme = "pydata_sphinx_theme"
html_title = "dpfda"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_theme_options = {"show_toc_level": 2, "navigation_depth": 2, "collapse_navigation": True}
# Methods that scikit-learn makes for every estimator, and those by which a summary is built.
MACHINERY = re.compile(
    "asked|but|embed(ded_points)?|pooled(_on)?|prepare(_counts)?|settings|short(hand)?|"
    r"set_\w+_request|get_metadata_routing"
)
FORMULAS = LatexToMathML(fancy_error=False)


def write_commands(_: object) -> None:
    """The page of commands, from the program itself, so that it cannot differ from it."""
    (HERE / "generated").mkdir(exist_ok=True)
    words = [
        sys.executable,
        "-m",
        "typer",
        "dpfda.front.app",
        "utils",
        "docs",
        "--name",
        "dpfda",
    ]
    made = subprocess.run([*words, "--title", "Commands"], check=True, capture_output=True, text=True)  # noqa: S603
    (HERE / "generated" / "commands.md").write_text(made.stdout, encoding="utf-8")


def take_pages(_: object) -> None:
    """Pages that lie elsewhere in the repository, with links that lead from their new place."""
    folder = HERE / "generated"
    folder.mkdir(exist_ok=True)
    for file in sorted((HERE.parent / "experiments" / "results").iterdir()):
        # Quick runs have a folder of their own there.
        if file.is_file():
            shutil.copy(file, folder)
    for page in ELSEWHERE:
        text = (HERE.parent / page).read_text(encoding="utf-8")
        (folder / page).write_text(text.replace("](docs/", "](../"), encoding="utf-8")


def relink(_: object, name: str, source: list[str]) -> None:
    """Links to such pages lead to the site's copies."""
    up = "../" * name.count("/")
    source[0] = re.sub(r"\]\((?:\.\./)+experiments/results/", f"]({up}generated/", source[0])


def escape_bars(_: object, __: str, ___: str, ____: object, _____: object, lines: list[str]) -> None:
    """Bars in a docstring are those of a length, not of a substitution."""
    lines[:] = [
        line if line.lstrip().startswith((">>>", "...")) else line.replace("|", r"\|") for line in lines
    ]


def list_fields(_: object, __: str, ___: str, ____: object, _____: object, lines: list[str]) -> None:
    """Parameters that a docstring says in a line each, "name: what it is", as a list."""
    if any(re.fullmatch(r" *-{3,}", line) for line in lines):
        return
    made, inside = lines[:1], -1
    for line in lines[1:]:
        depth = len(line) - len(line.lstrip())
        field = re.fullmatch(r" *([a-z_]\w*(?:, [a-z_]\w*)*): (\S.*)", line)
        left = not field and line.strip() and depth <= inside
        if left or (field and inside < 0):
            made.append("")
        if left or field:
            inside = depth if field else -1
        made.append(" " * depth + f":{field[1]}: {field[2]}" if field else line)
    lines[:] = made


def skip_machinery(_: object, __: str, name: str, *___: object) -> bool | None:
    """What no user calls is left out."""
    return True if MACHINERY.fullmatch(name) else None


def write_formula(page: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """A formula as MathML, which browsers draw themselves; what cannot be read is a warning."""
    block = isinstance(node, nodes.math_block)
    try:
        formula = FORMULAS.convert_with_local_state(node.astext(), displaystyle=block)
    except LatexError as error:
        logging.getLogger(__name__).warning("formula: %s", error, location=node)
        formula = ""
    page.body.append(f'<div class="formula">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Take what comes from the program and from other folders."""
    app.connect("builder-inited", write_commands)
    app.connect("builder-inited", take_pages)
    app.connect("source-read", relink)
    # Before numpydoc.
    app.connect("autodoc-process-docstring", list_fields, priority=400)
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("autodoc-skip-member", skip_machinery)
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    # What a block of code prints, and a console whose numbers differ from run to run.
    app.add_lexer("output", TextLexer)
    app.add_lexer("drawn", BashSessionLexer)
