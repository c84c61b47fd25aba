"""`dpfda desk`: from a file to a signed report on a local page."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.numerics.errors import MissingExtraError, ParameterError


def desk(*, folder: Path = Path(), port: int = 0, no_browser: bool = False) -> None:
    """Publish from a file in a browser on this machine: plan, dry run, release, report to sign.

    The pages lead through the steps: a file, who is protected, what is published, what to expect, a dry
    run, one release, and its report. They write the same study that dpfda run takes, and call the same
    verbs. Only this machine can reach them, by a link that works once; the file stays on it. Releases,
    studies and the ledger lie in the folder. Ctrl-C stops it, after a release that is under way.

    Parameters
    ----------
    folder : DIR
        Where studies, releases and the ledger lie; by default this folder.
    port : P
        Port of this machine; by default one that is free.
    no_browser
        Print the link and open no browser.

    Examples
    --------
    dpfda desk
    dpfda desk --folder trial --no-browser
    """
    os.chdir(folder)
    start("Desk", port, no_browser)


def start(what: str, port: int, no_browser: bool) -> None:
    """Serve the pages of this folder, beginning with the desk's or the explorer's."""
    for package in ("flask", "matplotlib"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "desk", f"dpfda {'desk' if what == 'Desk' else 'explore'}")
    if not 0 <= port <= 65535:
        raise ParameterError("--port", "lie between 0 and 65535", port)
    import matplotlib

    from dpfda.front.desk.server import run

    matplotlib.use("Agg")
    run(Path.cwd(), port, not no_browser, what)


VERB = Verb.of(desk, o.PUBLISHING)
