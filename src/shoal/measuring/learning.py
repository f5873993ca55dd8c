"""Two plain ways to learn from examples, and how well they do: arrays in, arrays out.

A logistic regression with a squared penalty tells classes, a ridge regression tells numbers. An example may have each
class by a share, as a record of which a release shows a set. Both have one best answer, so that nothing is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from shoal.models.exact import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

PENALTY = 1.0
"""What half the sum of squared coefficients costs, next to the loss of one example."""
MOST_STEPS = 300
FLAT = 3e-4
"""By which the mean loss may still fall for each coefficient when the search ends."""
SAME = 1e-12
"""A sum of squares below this share of what it is compared with is nothing."""


class Taught(Protocol):
    """What was learned: an answer for each line of features."""

    def answer(self, features: csr_matrix) -> FloatArray:
        """By line: the chance of each class, or the number."""
        ...


class LinearClasses:
    """Chances of classes: the exponentials of linear scores, over their sum."""

    def __init__(self, intercept: FloatArray, coefficients: FloatArray) -> None:
        self.intercept, self.coefficients = intercept, coefficients

    def answer(self, features: csr_matrix) -> FloatArray:
        """The chance of each class, by line."""
        return _chances(self.intercept + features @ self.coefficients)


class LinearNumber:
    """A number as a linear score."""

    def __init__(self, intercept: float, coefficients: FloatArray) -> None:
        self.intercept, self.coefficients = intercept, coefficients

    def answer(self, features: csr_matrix) -> FloatArray:
        """The number, by line."""
        return np.asarray(self.intercept + features @ self.coefficients)


def learn_classes(features: csr_matrix, shares: FloatArray, *, flat: float = FLAT) -> LinearClasses:
    """Multinomial logistic regression: the least loss of all examples plus PENALTY / 2 times the squared coefficients.

    Parameters
    ----------
    features
        By example and feature; the intercept is added and not penalised.
    shares
        By example and class, how much of it is of the class; a line sums to 1.
    flat
        The search ends where no coefficient changes the mean loss by more.
    """
    from scipy.optimize import minimize

    (n, n_features), n_classes = features.shape, shares.shape[1]
    back = features.T.tocsr()

    def loss(line: FloatArray) -> tuple[float, FloatArray]:
        weights = line.reshape(n_features + 1, n_classes)
        scores = weights[0] + features @ weights[1:]
        highest = scores.max(axis=1, keepdims=True)
        exponential = np.exp(scores - highest)
        total = exponential.sum(axis=1, keepdims=True)
        lost = float((shares * (highest + np.log(total) - scores)).sum())
        residual = exponential / total - shares
        slope = np.vstack([residual.sum(axis=0), back @ residual + PENALTY * weights[1:]])
        return (lost + PENALTY / 2 * float((weights[1:] ** 2).sum())) / n, slope.ravel() / n

    start = np.zeros((n_features + 1, n_classes))
    start[0] = np.log((shares.sum(axis=0) + 1) / (len(shares) + n_classes))
    settings = {"maxiter": MOST_STEPS, "gtol": flat, "ftol": 0.0, "maxcor": 20}
    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=settings)
    weights = found.x.reshape(n_features + 1, n_classes)
    return LinearClasses(weights[0], weights[1:])


def learn_number(features: csr_matrix, numbers: FloatArray) -> LinearNumber:
    """Ridge regression: the least sum of squared errors plus PENALTY times the squared coefficients.

    Numbers are scaled to one standard deviation for it, and the intercept is not penalised.
    """
    middle, scale = float(numbers.mean()), float(numbers.std())
    if scale <= SAME * max(abs(middle), 1.0):
        return LinearNumber(middle, np.zeros(features.shape[1]))
    centre = np.asarray(features.mean(axis=0)).ravel()
    products = (features.T @ features).toarray() - len(numbers) * np.outer(centre, centre)
    target = features.T @ ((numbers - middle) / scale)
    coefficients = np.linalg.solve(products + PENALTY * np.eye(len(centre)), target) * scale
    return LinearNumber(middle - float(centre @ coefficients), coefficients)


def _chances(scores: FloatArray) -> FloatArray:
    exponential = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exponential / exponential.sum(axis=1, keepdims=True))


# --- how well answers do ----------------------------------------------------------------------------------------------


def area_under_curve(scores: FloatArray, is_so: BoolArray) -> float | None:
    """How likely a line that is so scores higher than one that is not, a tie counting half; None without both."""
    n_so = int(is_so.sum())
    n_not = len(is_so) - n_so
    if not n_so or not n_not:
        return None
    _, place, n_alike = np.unique(scores, return_inverse=True, return_counts=True)
    below = np.cumsum(n_alike) - n_alike
    rank = below + (n_alike + 1) / 2
    return float((rank[place.reshape(-1)][is_so].sum() - n_so * (n_so + 1) / 2) / (n_so * n_not))


def mean_area(chances: FloatArray, class_of_line: IntArray) -> float | None:
    """The mean over classes, by their lines, of the area under the curve of each class against all others.

    None where all lines are of one class.
    """
    counts = np.bincount(class_of_line, minlength=chances.shape[1])
    areas = {at: area_under_curve(chances[:, at], class_of_line == at) for at in np.flatnonzero(counts)}
    known = {at: area for at, area in areas.items() if area is not None}
    return float(np.average(list(known.values()), weights=counts[list(known)])) if known else None


def explained(numbers: FloatArray, answers: FloatArray) -> float | None:
    """R squared: 1 less the squared errors over the squared distances from the mean; None where all are equal."""
    around = float(((numbers - numbers.mean()) ** 2).sum())
    if around <= SAME * max(float((numbers**2).sum()), 1.0):
        return None
    return 1.0 - float(((numbers - answers) ** 2).sum()) / around
