"""How many persons of a population are unique, estimated from a sample of it.

All estimators look at the classes of a sample (persons who show the same quasi-identifiers): how many classes have
1, 2, 3, ... persons. `None` is where an estimator does not apply.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LARGEST_FRACTION_OF_PITMAN = 0.1
"""Up to this share of the population Dankar's rule takes Pitman's model."""
TRIES = 200


@dataclass(frozen=True)
class ClassSizes:
    """How many classes of a sample have each size."""

    size: IntArray
    """The sizes that there are, ascending."""
    classes: IntArray
    """How many classes have each of them."""
    population: float
    """How many persons the population has."""

    @classmethod
    def of(cls, persons_of_class: NDArray[np.integer], population: float) -> ClassSizes:
        """The sizes of classes by the persons of each."""
        size, classes = np.unique(persons_of_class[persons_of_class > 0], return_counts=True)
        return cls(size.astype(np.int64), classes.astype(np.int64), float(population))

    @property
    def n(self) -> int:
        """The persons of the sample."""
        return int((self.size * self.classes).sum())

    @property
    def n_classes(self) -> int:
        """The classes of the sample."""
        return int(self.classes.sum())

    @property
    def uniques(self) -> int:
        """The persons of the sample who are alone in their class."""
        return int(self.classes[self.size == 1].sum())

    @property
    def pairs(self) -> int:
        """The classes of two persons."""
        return int(self.classes[self.size == 2].sum())

    @property
    def fraction(self) -> float:
        """The share of the population that is in the sample."""
        return min(1.0, self.n / self.population)


def population_uniques(sizes: ClassSizes) -> dict[str, float | None]:
    """The estimates of all estimators: how many persons of the population are unique."""
    if not sizes.uniques:  # who shares a class in the sample shares it in the population
        return dict.fromkeys(("pitman", "zayatz", "snb", "dankar"), 0.0)
    if sizes.fraction >= 1:
        return dict.fromkeys(("pitman", "zayatz", "snb", "dankar"), float(sizes.uniques))
    by_pitman, by_zayatz, by_snb = pitman(sizes), zayatz(sizes), slide_negative_binomial(sizes)
    return {"pitman": by_pitman, "zayatz": by_zayatz, "snb": by_snb, "dankar": _by_rule(sizes, by_pitman, by_zayatz,
                                                                                       by_snb)}  # fmt: skip


def dankar(sizes: ClassSizes) -> float | None:
    """The estimate that Dankar and others (2012) take: Pitman's of small samples, else the lower of Zayatz and SNB."""
    return population_uniques(sizes)["dankar"]


def _by_rule(sizes: ClassSizes, by_pitman: float | None, by_zayatz: float | None, by_snb: float | None) -> float | None:
    if sizes.fraction <= LARGEST_FRACTION_OF_PITMAN and by_pitman is not None:
        return by_pitman
    known = [estimate for estimate in (by_zayatz, by_snb) if estimate is not None]
    return min(known) if known else by_pitman


# --- Zayatz ----------------------------------------------------------------------------------------------------------


def zayatz(sizes: ClassSizes) -> float | None:
    """Zayatz (1991): the chance that a sample unique is one in the population, by hypergeometric draws of the classes.

    The classes of the population are taken to have the sizes that those of the sample have.
    """
    chance = unique_given_sample_unique(sizes)
    return None if chance is None else sizes.uniques * chance / sizes.fraction


def unique_given_sample_unique(sizes: ClassSizes) -> float | None:
    """The chance that somebody who is unique in the sample is unique in the population (Zayatz)."""
    one = _chance_of_one(sizes) * sizes.classes
    return float(one[sizes.size == 1].sum() / one.sum()) if sizes.uniques else None


def _chance_of_one(sizes: ClassSizes) -> FloatArray:
    """The chance that a sample has exactly one person of a class of each size, divided by that for classes of one.

    That is i C(N - i, n - 1) / C(N - 1, n - 1), multiplied up factor by factor: logarithms of factorials would lose
    digits where the population is large.
    """
    n, population = sizes.n, max(sizes.population, sizes.n)
    before = np.arange(1, int(sizes.size.max()))
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.log1p(-(n - 1) / np.maximum(population - before, n - 1))
    logs = np.append(0.0, np.cumsum(factors))[sizes.size - 1]
    return np.asarray(sizes.size * np.exp(logs))


# --- Pitman ----------------------------------------------------------------------------------------------------------


def pitman(sizes: ClassSizes) -> float | None:
    """Hoshino (2001): population uniques under Pitman's model, its two parameters by maximum likelihood."""
    from scipy.special import gammaln

    fitted = pitman_parameters(sizes)
    if fitted is None:
        return None
    theta, alpha = fitted
    return float(np.exp(gammaln(theta + 1) - gammaln(theta + alpha) + alpha * math.log(sizes.population)))


def pitman_parameters(sizes: ClassSizes) -> tuple[float, float] | None:
    """theta and alpha of Pitman's model, where the likelihood is highest; None where it has no such place."""
    start = _first_guess(sizes)
    best: tuple[float, float, float] | None = None
    for theta, alpha in (start, (max(start[0], 1.0), 0.5), (10.0, 0.1), (100.0, 0.9)):
        with np.errstate(all="ignore"):  # where it has no such place, it runs away
            found = _newton(sizes, theta, alpha)
        if found is not None:
            height = _likelihood(sizes, *found)
            if best is None or height > best[0]:
                best = (height, *found)
    return None if best is None else best[1:]


def _first_guess(sizes: ClassSizes) -> tuple[float, float]:
    """Moments (Hoshino 2001), as a place to start from."""
    n, u, one, two = sizes.n, sizes.n_classes, sizes.uniques, sizes.pairs
    c = one * (one - 1) / two if two else 0.0
    denominator = 2 * one * u + c * (n - 1) - one * u - n * one  # as in the paper, gathered
    theta = (n * u * c - one * (n - 1) * (2 * u + c)) / denominator if denominator else 1.0
    alpha = (theta * (one - n) + (n - 1) * one) / (n * u) if n * u else 0.5
    return (theta if theta > 0 and math.isfinite(theta) else 1.0, alpha if 0 < alpha < 1 else 0.5)


def _likelihood(sizes: ClassSizes, theta: float, alpha: float) -> float:
    """The log-likelihood of the sizes, without what does not depend on the parameters."""
    from scipy.special import gammaln

    u = sizes.n_classes
    classes = (u - 1) * math.log(alpha) + gammaln(theta / alpha + u) - gammaln(theta / alpha + 1)
    persons = gammaln(theta + sizes.n) - gammaln(theta + 1)
    inside = ((gammaln(sizes.size - alpha) - gammaln(1 - alpha)) * sizes.classes).sum()
    return float(classes - persons + inside)


def _newton(sizes: ClassSizes, theta: float, alpha: float) -> tuple[float, float] | None:
    """Newton's method in log theta and the logit of alpha, with steps that raise the likelihood."""
    x = np.array([math.log(theta), math.log(alpha / (1 - alpha))])
    height = _likelihood(sizes, *_back(x))
    for _ in range(TRIES):
        slope, bend = _derivatives(sizes, x)
        try:
            step = np.linalg.solve(bend, slope)
        except np.linalg.LinAlgError:
            return None
        if float(slope @ step) > 0:  # not where it bends down: go up the slope
            step = -slope / max(1.0, float(np.abs(slope).max()))
        step = np.clip(step, -2, 2)
        length = 1.0
        while length > 1e-12:
            reached = _likelihood(sizes, *_back(x - length * step))
            if reached >= height - 1e-9 * abs(height):
                break
            length /= 2
        x, height = x - length * step, reached
        if not np.isfinite(x).all() or np.abs(x).max() > 60:
            return None
        if float(np.abs(length * step).max()) < 1e-13:
            break
    theta, alpha = _back(x)
    return (theta, alpha) if 1e-9 < alpha < 1 - 1e-9 and math.isfinite(theta) else None


def _back(x: FloatArray) -> tuple[float, float]:
    return math.exp(x[0]), 1 / (1 + math.exp(-x[1]))


def _derivatives(sizes: ClassSizes, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slope and bend of the log-likelihood in log theta and the logit of alpha."""
    from scipy.special import digamma, polygamma

    theta, alpha = _back(x)
    u, n = sizes.n_classes, sizes.n
    t = theta / alpha
    d1, d2 = digamma(t + u) - digamma(t + 1), polygamma(1, t + u) - polygamma(1, t + 1)
    m1, m2 = digamma(theta + n) - digamma(theta + 1), polygamma(1, theta + n) - polygamma(1, theta + 1)
    i1 = (sizes.classes * (digamma(1 - alpha) - digamma(sizes.size - alpha))).sum()
    i2 = (sizes.classes * (polygamma(1, sizes.size - alpha) - polygamma(1, 1 - alpha))).sum()
    by_theta = d1 / alpha - m1
    by_alpha = (u - 1) / alpha - theta / alpha**2 * d1 + i1
    theta_theta = d2 / alpha**2 - m2
    alpha_alpha = -(u - 1) / alpha**2 + 2 * theta / alpha**3 * d1 + theta**2 / alpha**4 * d2 + i2
    both = -d1 / alpha**2 - theta / alpha**3 * d2
    a = alpha * (1 - alpha)  # d alpha / d logit
    slope = np.array([by_theta * theta, by_alpha * a])
    bend = np.array(
        [
            [theta_theta * theta**2 + by_theta * theta, both * theta * a],
            [both * theta * a, alpha_alpha * a * a + by_alpha * a * (1 - 2 * alpha)],
        ]
    )
    return slope, bend


# --- slide negative binomial -----------------------------------------------------------------------------------------


def slide_negative_binomial(sizes: ClassSizes) -> float | None:
    """Chen and Keller-McNulty (1998): classes of 1 + a negative binomial number of persons; None without a solution.

    The number of classes of the population and the two parameters are those by which the population has as many persons
    as it has, and a sample of this share is expected to show as many classes and as many uniques as it does.
    """
    from scipy.optimize import brentq

    def off(log_classes: float) -> float:
        fitted = _fitted(sizes, math.exp(log_classes))
        if fitted is None:
            return math.nan
        a, b = fitted
        return math.exp(log_classes) * (1 + a * (1 - b) / b) / sizes.population - 1

    low, high = math.log(sizes.n_classes * (1 + 1e-9)), math.log(sizes.n_classes / sizes.fraction)
    places = np.linspace(low, high, 200)
    errors = np.array([off(place) for place in places])
    turns = np.flatnonzero(errors[:-1] * errors[1:] < 0)
    if not len(turns):
        return None
    found = math.exp(brentq(off, places[turns[0]], places[turns[0] + 1], xtol=1e-14, rtol=1e-13))
    fitted = _fitted(sizes, found)
    return None if fitted is None else float(found * fitted[1] ** fitted[0])


def _fitted(sizes: ClassSizes, n_classes: float) -> tuple[float, float] | None:
    """The parameters a and b by which so many classes show as many classes and uniques in a sample as there are.

    Of a class nothing is seen with z G(z), and one person with f (G(z) + z G'(z)), where z = 1 - f and
    G(z) = (b / (1 - (1 - b) z))^a.
    """
    from scipy.optimize import brentq

    f, z = sizes.fraction, 1 - sizes.fraction
    g = (1 - sizes.n_classes / n_classes) / z
    if not 0 < g < 1:
        return None
    ratio = (sizes.uniques / n_classes / (f * g) - 1) / z  # G'/G = a (1 - b) / (1 - (1 - b) z)
    if ratio <= 0:
        return None

    def a_of(b: float) -> float:
        return ratio * (1 - (1 - b) * z) / (1 - b)

    def off(b: float) -> float:
        return a_of(b) * math.log(b / (1 - (1 - b) * z)) - math.log(g)

    low, high = 1e-12, 1 - 1e-9
    if off(low) * off(high) > 0:
        return None
    b = float(brentq(off, low, high, xtol=1e-15, rtol=1e-14))
    return a_of(b), b
