"""The d_X-private choice: exponential mechanism and permute-and-flip (Definition 9 and Theorem 3 of the paper).

The scores are whole numbers that move by at most `D(i, j) = max_k |A_ki - A_kj|` when record i is replaced by j.
Weights `exp(u / (2c))` and their sum then move by at most `exp(D / (2c))` each, so that every probability changes by
at most `exp(D / c) = exp(L(i, j))`, and the certificate says L <= budget * d.  Permute-and-flip has the same bound: it
is the noisy maximum with exponential noise of scale 2c.

Nothing is rounded after the data enters, and neither scores nor gaps leave this file.
"""

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.answer_grid import LARGEST_SCORE, MOST_EXPONENT
from dxprivacy.exact.arrays import Ints
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.sampling.system_noise import Noise
from dxprivacy.mechanisms.selection.selection_facts import SelectionFacts


def chosen(selection: SelectionFacts, histogram: Histogram, noise: Noise) -> int:
    """The index of the chosen candidate: the last line chooses, under the certificate of the first."""
    # Thm 3: needs max_k |A_ki - A_kj| <= c d(i, j) for all i, j.
    selection.certificate.require(at_most=selection.budget)
    if histogram.universe != selection.metric.universe:
        raise UsageError("the histogram is over another universe than the selection")
    selection.require_room(histogram.public_records)
    scores = selection.candidates.scores(selection.workload.answer(histogram))
    return pick(scores, selection.scale, noise, flip=selection.flip)


def pick(scores: Ints, scale: float, noise: Noise, *, flip: bool) -> int:
    """Choose at one scale; at scale 0 the best, the first of equals.

    Clipping moves no score further than it moved before: should there be more records than declared where their
    number is private, nothing fails that would tell.
    """
    if scale == 0:
        return int(scores.argmax())
    most = int(min(LARGEST_SCORE, MOST_EXPONENT * 2 * scale))
    return noise.select(np.clip(scores, -most, most), np.full(len(scores), scale), flip=flip)
