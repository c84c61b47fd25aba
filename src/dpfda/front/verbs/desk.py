"""`dpfda desk`: from a file to a signed report on a local page."""

from __future__ import annotations

import os
from pathlib import Path

from dpfda.command import options as o
from dpfda.command.functions import Verb


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
    """
    from dpfda.front.desk.server import run

    os.chdir(folder)
    run(Path.cwd(), port, browser=not no_browser, step="/", what="Desk")


VERB = Verb.of("desk", desk, ("dpfda desk", "dpfda desk --folder trial --no-browser"), o.PUBLISHING)
