"""The policy: what was chosen for a release, from a TOML file or from flags."""

from shoal.policy.load import policy_from_document, read_document
from shoal.policy.policy import Policy

__all__ = ["Policy", "policy_from_document", "read_document"]
