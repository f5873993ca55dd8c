"""Remembering what was released about whom, so that a new release is looked at together with the earlier ones."""

from shoal.publishing.ledger.check import LedgerCheck, ModelCheck
from shoal.publishing.ledger.ledger import Ledger, ListedRelease

__all__ = ["Ledger", "LedgerCheck", "ListedRelease", "ModelCheck"]
