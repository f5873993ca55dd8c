"""What a person's published records tell, written to be read. Never optimise this file; never import the package here.

A record is a tuple (group, person, label, ..., time): one label for each history column, as it is published. The label
"*" is hidden and shows nothing; any other label, None (missing) too, is shown. `columns` are numbers of labels, from 0.
Where hidden values are shared they are labels like any other (`as_shared`), unless enough persons hide enough.

`knows` says what one item of knowledge is:

"values"   (column, label) of one cell
"records"  the labels of all columns in one record
"times"    those labels and the time
"order"    those labels; a combination is a sequence that the person's records show in the order of their times
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, permutations

HIDDEN = "*"
EVERYONE = "everyone"

Record = tuple[Hashable, ...]
Item = tuple[Hashable, ...]
Combination = tuple[Item, ...]


def as_shared(records: Sequence[Record]) -> list[Record]:
    """The same records where what is hidden is a label like any other."""
    return [tuple("hidden" if label == HIDDEN else label for label in record) for record in records]


def records_of_persons(records: Sequence[Record], *, by_group: bool) -> dict[Hashable, dict[Hashable, list[Record]]]:
    """The records of each person of each group; without groups everyone is in one."""
    persons: dict[Hashable, dict[Hashable, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        persons[record[0] if by_group else EVERYONE][record[1]].append(record)
    return persons


def items_of_record(record: Record, columns: Sequence[int], knows: str) -> list[Item]:
    """What one record shows."""
    labels = [record[2 + column] for column in columns]
    if knows == "values":
        return [(column, label) for column, label in zip(columns, labels, strict=True) if label != HIDDEN]
    if all(label == HIDDEN for label in labels):
        return []
    return [(*labels, record[-1])] if knows == "times" else [tuple(labels)]


def items_of_person(records: Sequence[Record], columns: Sequence[int], knows: str) -> list[Item]:
    """What the records of one person show, in the order of their times; an item shown twice is there twice."""
    in_time = sorted(records, key=lambda record: record[-1]) if knows in ("times", "order") else records
    return [item for record in in_time for item in items_of_record(record, columns, knows)]


def multiset(items: Sequence[Item]) -> Combination:
    """The same items in an order of their own, so that equal multisets are equal tuples."""
    return tuple(sorted(items, key=repr))


def combinations_of_person(
    records: Sequence[Record], columns: Sequence[int], knows: str, m: int
) -> Iterator[Combination]:
    """All combinations of at most m items that one person shows, the empty one too; some may come twice."""
    if knows != "order":
        items = items_of_person(records, columns, knows)
        for size in range(m + 1):
            for chosen in combinations(items, size):
                yield multiset(chosen)
        return
    showing = [record for record in records if items_of_record(record, columns, knows)]
    for size in range(m + 1):
        for sequence in permutations(showing, size):
            if all(one[-1] <= other[-1] for one, other in pairwise(sequence)):
                yield tuple(items_of_record(record, columns, knows)[0] for record in sequence)


def persons_showing(
    records: Sequence[Record], *, m: int, columns: Sequence[int], knows: str = "values", by_group: bool = True
) -> dict[Hashable, dict[Combination, set[Hashable]]]:
    """For each group and each combination of at most m items that somebody shows: who shows it."""
    showing: dict[Hashable, dict[Combination, set[Hashable]]] = {}
    for group, persons in records_of_persons(records, by_group=by_group).items():
        of_group = showing[group] = defaultdict(set)
        for person, own in persons.items():
            for combination in combinations_of_person(own, columns, knows, m):
                of_group[combination].add(person)
    return showing


def broken_combinations(
    records: Sequence[Record], *, k: int, m: int, columns: Sequence[int], knows: str = "values", by_group: bool = True
) -> list[tuple[Hashable, Combination, int]]:
    """History-k: each group and combination that fewer than k persons show, and how many do."""
    showing = persons_showing(records, m=m, columns=columns, knows=knows, by_group=by_group)
    return [
        (group, combination, len(persons))
        for group, of_group in showing.items()
        for combination, persons in of_group.items()
        if len(persons) < k
    ]


def betrayed_items(
    records: Sequence[Record],
    *,
    c: Fraction,
    m: int,
    columns: Sequence[int],
    knows: str = "values",
    by_group: bool = True,
) -> list[tuple[Hashable, Combination, Item, int, int]]:
    """History-confidence: each group, combination S and further item y that more than c of those who show S show.

    With them: how many persons show S and y, and how many show S.
    """
    showing = persons_showing(records, m=m, columns=columns, knows=knows, by_group=by_group)
    betrayed = []
    for group, persons_of_group in records_of_persons(records, by_group=by_group).items():
        held = {person: set(items_of_person(own, columns, knows)) for person, own in persons_of_group.items()}
        for combination, persons in showing[group].items():
            further = Counter(item for person in persons for item in held[person] if item not in combination)
            betrayed += [
                (group, combination, item, n, len(persons)) for item, n in further.items() if n > c * len(persons)
            ]
    return betrayed


def broken_counts(records: Sequence[Record], *, k: int) -> list[tuple[Hashable, int, int]]:
    """Count-k: each group and number of records that fewer than k persons show, and how many do."""
    broken = []
    for group, persons in records_of_persons(records, by_group=True).items():
        persons_with = Counter(len(own) for own in persons.values())
        broken += [(group, count, n) for count, n in persons_with.items() if n < k]
    return broken


def shares_hidden(
    records: Sequence[Record], *, k: int, m: int, columns: Sequence[int], knows: str = "values", by_group: bool = True
) -> bool:
    """Whether in every group k persons hide m values of every column, or what is hidden is that of k like any label.

    Of whole records: whether k persons have m records of which nothing is shown. Where nobody of the group has m
    records, as many as anybody has are enough.
    """
    for persons in records_of_persons(records, by_group=by_group).values():
        hiding = 0
        enough = min(m, max(len(own) for own in persons.values()))
        for own in persons.values():
            labels = [[record[2 + column] for column in columns] for record in own]
            if knows == "values":
                hiding += all(sum(row[at] == HIDDEN for row in labels) >= enough for at in range(len(columns)))
            else:
                hiding += sum(all(label == HIDDEN for label in row) for row in labels) >= enough
        of_group = [record for own in persons.values() for record in own]
        is_hidden = any(record[2 + column] == HIDDEN for record in of_group for column in columns)
        shown = as_shared(of_group)
        broken = broken_combinations(shown, k=k, m=m, columns=columns, knows=knows, by_group=by_group)
        if is_hidden and hiding < k and broken:
            return False
    return True


def holds(
    records: Sequence[Record],
    *,
    k: int = 1,
    m: int,
    c: Fraction | None = None,
    columns: Sequence[int],
    knows: str = "values",
    by_group: bool = True,
) -> bool:
    """Whether the records keep to history-k and, where c is given, to history-confidence."""
    if broken_combinations(records, k=k, m=m, columns=columns, knows=knows, by_group=by_group):
        return False
    return c is None or not betrayed_items(records, c=c, m=m, columns=columns, knows=knows, by_group=by_group)
