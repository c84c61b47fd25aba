"""`dpfda explore`: a local page to try public choices on."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from importlib.util import find_spec

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.command.running import say
from dpfda.numerics.errors import MissingExtraError, ParameterError


def explore(*, port: int = 0, no_browser: bool = False) -> None:
    """Try epsilon, bounds and the number of people on made-up curves, in a browser on this machine.

    A page with sliders shows an imaginary release with its band, the error to expect and the words, and
    the command line for the same. It takes no file: the curves are made up, or public data that ship
    with the package. Only this machine can reach it, at an address with a secret part. Ctrl-C stops it.

    Parameters
    ----------
    port : P
        Port of this machine; by default one that is free.
    no_browser
        Print the address and open no browser.
    """
    for package in ("jinja2", "matplotlib"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "report", "dpfda explore")
    import matplotlib

    from dpfda.front.explorer.server import serve

    matplotlib.use("Agg")
    if not 0 <= port <= 65535:
        raise ParameterError("--port", "lie between 0 and 65535", port)
    server, address = serve(port)
    with server, suppress(KeyboardInterrupt):
        say(f"Explorer: {address}\nOn this machine only; no file is read. Ctrl-C stops it.")
        if not no_browser:
            webbrowser.open(address)
        server.serve_forever()
    say("stopped")


VERB = Verb.of(
    "explore", explore, ("dpfda explore", "dpfda explore --port 8600 --no-browser"), o.PLANNING
)
