"""Intervals and comparisons of success rates: Wilson, bootstrap, exact McNemar, pass@k.

Nothing here turns "no data" into a number: zero trials is an error, and callers say "unmeasured".
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING

from interlock.messages.errors import InterlockError

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence


class StatisticsError(InterlockError, ValueError):
    """A figure that the data cannot give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with its confidence interval.

    Attributes:
        value: The estimate.
        low: Lower end.
        high: Upper end.
        n: How many observations it rests on.
    """

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Two runs compared on the trials that both have.

    Attributes:
        both: Trials that both solved.
        only_first: Trials that only the first solved.
        only_second: Trials that only the second solved.
        neither: Trials that none solved.
        difference: Success rate of the first minus that of the second, with Newcombe's interval.
        p_value: Exact two-sided McNemar test of "no difference".
    """

    both: int
    only_first: int
    only_second: int
    neither: int
    difference: Interval
    p_value: float


def wilson(successes: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Return the Wilson score interval of a proportion.

    Raises:
        StatisticsError: If there are no trials, or the counts are impossible.
    """
    if trials <= 0:
        raise StatisticsError(f"a rate needs at least 1 trial, got {trials}: it is unmeasured")
    if not 0 <= successes <= trials:
        raise StatisticsError(f"{successes} successes in {trials} trials is impossible")
    z = _z(confidence)
    rate = successes / trials
    centre = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    half = (
        z
        / (1 + z * z / trials)
        * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    )
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return Interval(value=rate, low=low, high=high, n=trials)


def bootstrap_mean(
    values: Sequence[float], *, confidence: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Interval:
    """Return the mean with its percentile bootstrap interval; the same seed gives the same one.

    Raises:
        StatisticsError: If there are no values, or one is not finite.
    """
    if not values:
        raise StatisticsError("a mean needs at least 1 value, got 0: it is unmeasured")
    if not all(math.isfinite(value) for value in values):
        raise StatisticsError("a mean needs finite values; leave out or repair the others")
    generator = random.Random(seed)
    means = sorted(fmean(generator.choices(values, k=len(values))) for _ in range(resamples))
    tail = (1 - confidence) / 2
    return Interval(
        value=fmean(values),
        low=means[math.floor(tail * (resamples - 1))],
        high=means[math.ceil((1 - tail) * (resamples - 1))],
        n=len(values),
    )


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Return the two-sided exact p-value from the trials on which two runs disagree."""
    if only_first < 0 or only_second < 0:
        raise StatisticsError("counts of trials cannot be negative")
    discordant = only_first + only_second
    if discordant == 0:
        return 1.0
    fewer = min(only_first, only_second)
    tail = sum(math.comb(discordant, k) for k in range(fewer + 1))
    return min(1.0, 2.0 * tail / float(2**discordant))


def compare_paired(
    first: Mapping[Hashable, bool], second: Mapping[Hashable, bool], *, confidence: float = 0.95
) -> Paired:
    """Compare two runs on the trial ids they share.

    Raises:
        StatisticsError: If they share none.
    """
    shared = sorted(set(first) & set(second), key=repr)
    if not shared:
        raise StatisticsError(
            "the two runs share no trial id; run both on the same tasks and seeds"
        )
    pairs = [(bool(first[key]), bool(second[key])) for key in shared]
    counts = {pair: pairs.count(pair) for pair in ((True, True), (True, False), (False, True))}
    both, only_first, only_second = counts.values()
    neither = len(pairs) - both - only_first - only_second
    return Paired(
        both=both,
        only_first=only_first,
        only_second=only_second,
        neither=neither,
        difference=_newcombe(both, only_first, only_second, neither, confidence),
        p_value=mcnemar_exact(only_first, only_second),
    )


def pass_at_k(successes: int, trials: int, k: int) -> float:
    """Return the unbiased estimate that at least one of ``k`` tries succeeds.

    Raises:
        StatisticsError: If fewer than ``k`` trials were run.
    """
    if not 1 <= k <= trials:
        raise StatisticsError(f"pass@{k} needs at least {k} trials of one task, got {trials}")
    if not 0 <= successes <= trials:
        raise StatisticsError(f"{successes} successes in {trials} trials is impossible")
    return 1.0 - math.comb(trials - successes, k) / math.comb(trials, k)


def _newcombe(
    both: int, only_first: int, only_second: int, neither: int, confidence: float
) -> Interval:
    """Newcombe's score interval for a difference of paired proportions (his method 10)."""
    n = both + only_first + only_second + neither
    one = wilson(both + only_first, n, confidence=confidence)
    two = wilson(both + only_second, n, confidence=confidence)
    phi = _correlation(both, only_first, only_second, neither)
    difference = one.value - two.value
    below, above = one.value - one.low, two.high - two.value
    low = difference - math.sqrt(max(0.0, below**2 - 2 * phi * below * above + above**2))
    below, above = two.value - two.low, one.high - one.value
    high = difference + math.sqrt(max(0.0, above**2 - 2 * phi * above * below + below**2))
    return Interval(value=difference, low=low, high=high, n=n)


def _correlation(both: int, only_first: int, only_second: int, neither: int) -> float:
    n = both + only_first + only_second + neither
    margins = (
        (both + only_first)
        * (only_second + neither)
        * (both + only_second)
        * (only_first + neither)
    )
    if margins == 0:
        return 0.0
    product = both * neither - only_first * only_second
    corrected = max(product - n / 2, 0.0) if product > 0 else float(product)
    return corrected / math.sqrt(margins)


def _z(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise StatisticsError(f"confidence must lie between 0 and 1, got {confidence}")
    return NormalDist().inv_cdf(0.5 + confidence / 2)
