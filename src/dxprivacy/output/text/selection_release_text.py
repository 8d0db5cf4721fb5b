"""A released choice on the screen: what was chosen, how far from the best it may be, and the guarantee."""

from dxprivacy.mechanisms.selection.selection_release import ChoiceRelease
from dxprivacy.wording import columns, digits, tag, wrap


def choice_release_lines(release: ChoiceRelease) -> list[str]:
    """What was chosen, how far from the best it may be, and the guarantee."""
    lines = columns([[release.title, tag("accent", release.chosen), tag("dim", how_far(release))]], "lll")
    lines += ["", tag("bold", "Guarantee")]
    for k, sentence in enumerate(release.guarantee, 1):
        lines += [f"  {line}" for line in wrap(f"{k}. {sentence}", 94, "   ")]
    return lines


def how_far(release: ChoiceRelease) -> str:
    """How far from the best what was chosen may be, in words."""
    off = float(release.facts["short_by_at_most_95"])
    return f"at most {digits(off)} {release.facts['short_in']}, 95 % of the time" if off else "the best, exactly"
