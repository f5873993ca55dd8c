"""What lowers more than one attack and is cheap to try: no other groups are formed for it."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.attacking.contract import Remedy
from shoal.attacking.setting import Setting


def no_ids(setting: Setting) -> Iterator[Remedy]:
    """Publish no person ids, where a release shows them and the mask does not need them."""
    without = setting.without_ids()
    if without is not None:
        yield Remedy('person_ids = "none"', "publish no person ids", without)
