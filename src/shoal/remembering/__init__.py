"""Remembering what was released about whom, so that a new release is looked at together with the earlier ones."""

from shoal.remembering.check import LedgerCheck, ModelCheck
from shoal.remembering.ledger import Ledger, ListedRelease

__all__ = ["Ledger", "LedgerCheck", "ListedRelease", "ModelCheck"]
