"""Whether a new version of a policy lets anybody be told apart more easily than the version before.

People are followed, not names: with every value of the version before goes what the same entries are now.  The old
distances are those of the shortest ways along their generators; so it is enough that no generator got longer, and that
nothing that was one value has become several.  Distances within a billionth of each other count as equal: this decides
whether a person is asked, and no cost.
"""

import math

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.ledger.policy_upgrade import Match, Upgrade
from dxprivacy.metrics import Metric
from dxprivacy.metrics.derived_metrics import AttributeMax
from dxprivacy.metrics.with_other import WithAbsent, along, present
from dxprivacy.wording import digits

_EQUAL = 1 + 1e-9
_UNKNOWN = "the distances of the two versions cannot be compared attribute by attribute; that counts as looser"


def loosened(before: Metric | None, after: Metric, upgrade: Upgrade) -> tuple[str, ...]:
    """In what a version is looser than the one before, in words; nothing where no two people come further apart.

    `before` is None where the ledger does not know the old distances.
    """
    old, new = None if before is None else along(before), along(after)
    if before is None or old is None or new is None:
        return (_UNKNOWN,)
    found = [_settings(before, after)]
    for match in upgrade.matches:
        if match.new is None:
            continue  # what is no longer told of anybody
        if match.old is None:
            found.append(_added(new[match.new], upgrade.new.names[match.new]))
        else:
            found.append(_moved(old[match.old], new[match.new], match, upgrade))
    return tuple(words for words in found if words)


def _settings(before: Metric, after: Metric) -> str:
    """What is no distance between two values of an attribute."""
    several = len(after.universe.attributes) > 1
    if several and isinstance(present(before), AttributeMax) and not isinstance(present(after), AttributeMax):
        return "differences in several attributes add up now, and the largest alone counted before"
    if isinstance(before, WithAbsent) and isinstance(after, WithAbsent) and after.radius > before.radius:
        return f"presence has ε {digits(float(after.radius))} now, and had {digits(float(before.radius))}"
    return ""


def _added(metric: Metric, name: str) -> str:
    if metric.farthest is None and not metric.has_infinite:
        return ""  # all of its values are one
    return f"{name} is new: people who were alike may be told apart by it"


def _moved(old: Metric, new: Metric, match: Match, upgrade: Upgrade) -> str:
    """The pair of values of one attribute that moved apart most."""
    relation = match.relation
    if relation is None or match.old is None or match.new is None:
        return _UNKNOWN
    attribute = upgrade.new.attributes[match.new]
    now = np.full(upgrade.old.shape[match.old], -1, dtype=np.int64)
    now[relation.old[::-1]] = relation.new[::-1]  # of several the first
    if (now < 0).any():
        return _UNKNOWN
    split = new.pairwise(relation.new, now[relation.old])
    if (split > 0).any():
        k = int(split.argmax())
        a, b = (attribute.label(int(v)) for v in (now[relation.old[k]], relation.new[k]))
        return f"{attribute.name}: {a} – {b} were one value, and have ε {digits(float(split[k]))} now"
    return _longest(old, new, now, attribute.name, attribute.label)


def _longest(old: Metric, new: Metric, now: Ints, name: str, label: object) -> str:
    worst, words = 1.0, ""
    for i, j in old.generators():
        inside = (i < len(now)) & (j < len(now))  # the star around `absent` is the presence
        i, j = i[inside], j[inside]
        before, after = old.pairwise(i, j), new.pairwise(now[i], now[j])
        looser = np.flatnonzero(after > before * _EQUAL)
        if not len(looser):
            continue
        with np.errstate(divide="ignore"):
            ratio = np.where(np.isinf(after[looser]), math.inf, after[looser] / before[looser])
        k = int(looser[ratio.argmax()])
        if float(ratio.max()) > worst:
            worst = float(ratio.max())
            a, b = (label(int(now[v[k]])) for v in (i, j))  # type: ignore[operator]
            words = f"{name}: {a} – {b} have ε {digits(float(after[k]))} now, and had {digits(float(before[k]))}"
    return words
