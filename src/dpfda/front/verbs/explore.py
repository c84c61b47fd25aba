"""`dpfda explore`: the desk's page to try public choices on."""

from __future__ import annotations

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.front.verbs.desk import start


def explore(*, port: int = 0, no_browser: bool = False) -> None:
    """Try epsilon, bounds and the number of people on made-up curves, in a browser on this machine.

    A page with sliders shows an imaginary release with its band, the error to expect and the words, and
    the command line for the same. It takes no file: the curves are made up, or public data that ship
    with the package. Only this machine can reach it, by a link that works once. Ctrl-C stops it.

    Parameters
    ----------
    port : P
        Port of this machine; by default one that is free.
    no_browser
        Print the link and open no browser.

    Examples
    --------
    dpfda explore
    dpfda explore --port 8600 --no-browser
    """
    start("Explorer", port, no_browser)


VERB = Verb.of(explore, o.PLANNING)
