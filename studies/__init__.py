"""The papers' tables and figures on public data; one command each: python -m studies.joint."""
