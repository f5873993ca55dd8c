"""The policy: what was chosen for a release, from a TOML file or from flags, and the same in plain words."""

from shoal.policy.explain import explain
from shoal.policy.load import policy_from_document, read_document
from shoal.policy.policy import Policy

__all__ = ["Policy", "explain", "policy_from_document", "read_document"]
