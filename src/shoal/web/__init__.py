"""The web app: five steps from a file to a release, in a browser on the steward's own machine.

Nothing here is imported by the library. `serve` asks for NiceGUI only when it is called.
"""

from __future__ import annotations

from typing import Any


def serve(**options: Any) -> None:
    """Run the web app until it is ended; see `shoal.web.server.run` for the options."""
    from shoal.errors import ParameterError

    try:
        import nicegui  # noqa: F401
    except ImportError:
        raise ParameterError("The web app needs NiceGUI. Install it with: pip install 'shoal[web]'") from None
    from shoal.web.server import run

    run(**options)
