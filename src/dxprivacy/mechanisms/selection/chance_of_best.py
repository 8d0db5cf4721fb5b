"""How likely a choice takes the best: from public numbers alone."""

import math

from dxprivacy.mechanisms.selection.selection_facts import ChoiceFacts


def chance_of_the_best(choice: ChoiceFacts, records: int) -> float:
    """That the best is chosen where its score is as far above all others as so many records can make it.

    Of `exp(u / 2c)`; permute-and-flip errs no more.
    """
    if choice.scale == 0:
        return 1.0
    ahead = choice.candidates.largest(records) / (2 * choice.scale)
    return 1.0 / (1.0 + (len(choice.candidates) - 1) * math.exp(-min(ahead, 700.0)))
