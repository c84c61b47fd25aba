"""The desk's server: on this machine alone, and until it is stopped."""

from __future__ import annotations

import signal
import webbrowser
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.command.running import say
from dpfda.numerics.errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from werkzeug.serving import BaseWSGIServer

    from dpfda.front.desk.pages import Desk

LOOPBACK = "127.0.0.1"
# Seconds that a connection may say nothing.
SILENCE = 30


def serve(folder: Path, port: int = 0) -> tuple[BaseWSGIServer, Desk, str]:
    """A server on loopback that is ready to run, its desk, and the link that opens it once.

    Parameters
    ----------
    folder : Path
        Where studies, releases and the ledger lie.
    port : int
        0 for one that is free.

    Raises
    ------
    OSError
        If the port is taken.
    """
    import socket

    from werkzeug.serving import WSGIRequestHandler, make_server

    from dpfda.front.desk.guard import Guard
    from dpfda.front.desk.pages import Desk, make_app

    class Handler(WSGIRequestHandler):
        timeout = SILENCE

        def log(self, type: str, message: str, *args: object) -> None:
            """Say nothing: addresses have secrets in them."""

        def version_string(self) -> str:
            return "dpfda"

    # Bound here, so that the names that requests may use are known; a taken port is an error.
    bound = socket.socket()
    try:
        bound.bind((LOOPBACK, port))
        taken = bound.getsockname()[1]
        guard = Guard(frozenset(f"{name}:{taken}" for name in (LOOPBACK, "localhost")))
        desk = Desk(folder, guard)
        bound.listen()
        made = make_server(
            LOOPBACK, taken, make_app(desk), threaded=True, request_handler=Handler, fd=bound.fileno()
        )
    finally:
        # The server has a copy of the socket.
        bound.close()
    return made, desk, f"http://{LOOPBACK}:{taken}/open/{guard.token}"


def run(folder: Path, port: int, browser: bool, step: str, what: str) -> None:
    """Serve until an interrupt, then end after a release that is under way.

    Parameters
    ----------
    folder, port
        As of `serve`.
    browser : bool
        Whether to open one.
    step : str
        The first page.
    what : str
        What the link is called.
    """
    for package, extra in (("flask", "desk"), ("matplotlib", "desk")):
        if find_spec(package) is None:
            raise MissingExtraError(package, extra, "dpfda desk")
    import matplotlib

    matplotlib.use("Agg")
    if not 0 <= port <= 65535:
        raise ParameterError("--port", "lie between 0 and 65535", port)
    made, desk, link = serve(folder, port)
    link += "" if step == "/" else f"?to={step}"
    # A desk that is ended in good order removes what came through the browser.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with made, suppress(KeyboardInterrupt):
            say(
                f"{what}: {link}\nOn this machine only, and once: the link opens one browser. Ctrl-C stops it."
            )
            if browser:
                webbrowser.open(link)
            made.serve_forever()
    finally:
        if desk.publications.running():
            say("a release is under way; the desk ends after it")
        desk.publications.join()
        desk.uploads.close()
    say("stopped")
