"""The page Data."""

from __future__ import annotations

from shoal.web import layout
from shoal.web.app import App


def build(app: App) -> None:
    """Draw the page."""
    with layout.page(app, "data", title="Data", lead="This page is being built."):
        pass
