"""The page Columns."""

from __future__ import annotations

from shoal.web import layout
from shoal.web.app import App


def build(app: App) -> None:
    """Draw the page."""
    with layout.page(app, "columns", title="Columns", lead="This page is being built."):
        pass
