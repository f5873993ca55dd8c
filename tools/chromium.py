"""The browser that tests and pictures of the web app and the docs are made with."""

from __future__ import annotations

import os
import shutil

CHROMIUM = os.environ.get("SHOAL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--no-first-run", "--disable-dev-shm-usage", "--hide-scrollbars")  # fmt: skip
MISSING = "no Chromium on this machine: apt install chromium, or name one in SHOAL_CHROMIUM"
