"""Kept columns: somebody knows what is published unchanged of a person, and looks for the person by it.

Kept columns are outside every promise. A weight, a free code or a date that few persons share leads to them whatever
the groups are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shoal.attacking.contract import Attack, AttackResult, DoesNotApply, Need, Remedy
from shoal.attacking.setting import Setting
from shoal.judging.observation import number_alike, number_equal
from shoal.models.exact import IntArray

KEPT = Need("No column is published unchanged.", lambda setting: bool(setting.schema.kept))


class KeptColumnsAttack(Attack):
    """The chance to find a person by the kept columns of one of their records, without and with quasi-identifiers.

    The record is drawn by chance from the person's own. The chance is one over the number of published persons who have
    a record like it; everybody in the release is a target. Where records are not linked to persons, it is the chance to
    point at the very record, which is a lower bound of the chance to point at one of the person's.
    """

    name = "kept-columns"
    question = "Who is it, of whom the columns are known that are published unchanged?"
    knows = "What the kept columns say of the person."
    needs = (KEPT,)

    def run(self, setting: Setting) -> list[AttackResult]:
        """Try it."""
        shown = _shown(setting)
        if not shown:
            raise DoesNotApply("The published table has none of the columns that are kept.")
        item, n_items = number_equal([setting.frame[name] for name in shown])
        ways = {"": (item.astype(np.int64), n_items)}
        if setting.shows_groups:
            view = setting.view
            both, n_both = number_alike([(item, n_items), (view.place_of_row.astype(np.int32), view.n_places)])
            ways[" and quasi-identifiers"] = (both.astype(np.int64), n_both)
        named = ", ".join(f"'{name}'" for name in shown)
        return [
            self._found(setting, f"one record{also}", f"{named} of one record of the person{_besides(also)}.", *way)
            for also, way in ways.items()
        ]

    def _found(self, setting: Setting, name: str, knows: str, item: IntArray, n_items: int) -> AttackResult:
        view = setting.view
        pairs = np.unique(view.person_of_row * n_items + item)
        chance_of_row = 1 / np.bincount(pairs % n_items, minlength=n_items)[item]
        chance = np.bincount(view.person_of_row, weights=chance_of_row) / view.rows_of_person
        return self.result(
            f"kept-columns, {name}",
            knows=knows,
            aim="the published person taken is the person" if _is_of_persons(setting) else "the record is the person's",
            successes=float(chance.sum()),
            targets=view.n_persons,
            blind=1 / view.n_persons,
            is_exact=_is_of_persons(setting),
            details={"certain": int((chance == 1).sum())},
        )

    def remedies(self, setting: Setting, result: AttackResult) -> Iterator[Remedy]:
        """Drop each kept column in turn, and all of them."""
        shown = _shown(setting)
        for left_out in [*([name] for name in shown if len(shown) > 1), shown]:
            dropped = ", ".join(f'"{name}"' for name in (*setting.schema.dropped, *left_out))
            schema = replace(
                setting.schema,
                kept=[name for name in setting.schema.kept if name not in left_out],
                dropped=[*setting.schema.dropped, *left_out],
            )
            named = ", ".join(f"'{name}'" for name in left_out)
            yield Remedy(
                line=f"dropped = [{dropped}]",
                says=f"drop {named} rather than keep it"
                if len(left_out) == 1
                else f"drop {named} rather than keep them",
                setting=replace(setting, schema=schema, frame=setting.frame.drop(left_out)),
            )


def _shown(setting: Setting) -> list[str]:
    return [name for name in setting.schema.kept if name in setting.frame.columns]


def _besides(also: str) -> str:
    return ", and the quasi-identifiers of that record" if also else ""


def _is_of_persons(setting: Setting) -> bool:
    """Whether each published person is seen: by ids, or since each record is one."""
    return setting.shows_persons or setting.schema.person is None
