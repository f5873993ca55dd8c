"""The page Release."""

from __future__ import annotations

from shoal.web import layout
from shoal.web.app import App


def build(app: App) -> None:
    """Draw the page."""
    with layout.page(app, "release", title="Release", lead="This page is being built."):
        pass
