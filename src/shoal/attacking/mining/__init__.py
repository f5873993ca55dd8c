"""Knowledge found in the data: rules such as "no man has ovarian cancer", which an adversary may know too."""

from shoal.attacking.mining.knowledge import Knowledge
from shoal.attacking.mining.rules import Item, Rule, Rules

__all__ = ["Item", "Knowledge", "Rule", "Rules"]
