"""The page Protect."""

from __future__ import annotations

from shoal.web import layout
from shoal.web.app import App


def build(app: App) -> None:
    """Draw the page."""
    with layout.page(app, "protect", title="Protect", lead="This page is being built."):
        pass
