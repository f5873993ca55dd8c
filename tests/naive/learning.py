"""What a learner is told of a release and how well it does, written to be read. Nothing here imports the package."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def area_under_curve(scores: Sequence[float], is_so: Sequence[bool]) -> float | None:
    """Over all pairs of one that is so and one that is not: how often the first scores higher, a tie counting half."""
    yes = [score for score, so in zip(scores, is_so, strict=True) if so]
    no = [score for score, so in zip(scores, is_so, strict=True) if not so]
    if not yes or not no:
        return None
    wins = sum((a > b) + (a == b) / 2 for a in yes for b in no)
    return wins / (len(yes) * len(no))


def mean_area(chances: Sequence[Sequence[float]], classes: Sequence[int]) -> float | None:
    """The area of each class against all others, weighted by how many are of the class."""
    total, weight = 0.0, 0
    for each in set(classes):
        area = area_under_curve([line[each] for line in chances], [own == each for own in classes])
        if area is not None:
            n = sum(own == each for own in classes)
            total, weight = total + n * area, weight + n
    return total / weight if weight else None


def explained(numbers: Sequence[float], answers: Sequence[float]) -> float:
    """One less the squared errors over the squared distances from the mean."""
    mean = sum(numbers) / len(numbers)
    wrong = sum((a - b) ** 2 for a, b in zip(numbers, answers, strict=True))
    return 1 - wrong / sum((a - mean) ** 2 for a in numbers)


def loss_of_classes(
    features: Sequence[Sequence[float]],
    shares: Sequence[Sequence[float]],
    intercept: Sequence[float],
    coefficients: Sequence[Sequence[float]],
    penalty: float,
) -> float:
    """What a multinomial logistic regression keeps small; `coefficients` by feature and class."""
    lost = 0.0
    for line, own in zip(features, shares, strict=True):
        scores = [
            intercept[each] + sum(x * row[each] for x, row in zip(line, coefficients, strict=True))
            for each in range(len(intercept))
        ]
        log_total = math.log(sum(math.exp(score) for score in scores))
        lost -= sum(share * (score - log_total) for share, score in zip(own, scores, strict=True))
    return lost + penalty / 2 * sum(value**2 for row in coefficients for value in row)


def mean_over(values: Sequence[float | None]) -> tuple[float, float, float]:
    """Of equally likely values: the mean of those that are there, the mean of their squares, the share that is not."""
    there = [value for value in values if value is not None]
    missing = 1 - len(there) / len(values)
    if not there:
        return 0.0, 0.0, missing
    return sum(there) / len(there), sum(value**2 for value in there) / len(there), missing


def shares_over(values: Sequence[str | None]) -> Mapping[str | None, float]:
    """Of equally likely categories the share of each."""
    return {value: values.count(value) / len(values) for value in set(values)}


def cramers_v(pairs: Mapping[tuple[int, int], float]) -> float | None:
    """Cramer's V of counts by two classes."""
    rows, columns = {a for a, _ in pairs}, {b for _, b in pairs}
    total = sum(pairs.values())
    of_row = {a: sum(n for (x, _), n in pairs.items() if x == a) for a in rows}
    of_column = {b: sum(n for (_, y), n in pairs.items() if y == b) for b in columns}
    rows, columns = {a for a in rows if of_row[a] > 0}, {b for b in columns if of_column[b] > 0}
    if min(len(rows), len(columns)) < 2:
        return None
    chi_square = 0.0
    for a in rows:
        for b in columns:
            expected = of_row[a] * of_column[b] / total
            chi_square += (pairs.get((a, b), 0.0) - expected) ** 2 / expected
    return math.sqrt(chi_square / total / (min(len(rows), len(columns)) - 1))
