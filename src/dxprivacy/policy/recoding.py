"""`was` and `was_column`: how a policy's data was recoded since the version before.

    version = "2"
    was_version = "1"                           # the version before
    [attributes.region]
    column = "region_code"
    was_column = "region"                       # the column was renamed
    values = ["A1", "A2", "B", "CD"]
    was = { A1 = "A", A2 = "A", CD = ["C", "D"] }   # people now written A1 or A2 were written A

These are public facts about how the data was recoded.  They decide how past costs are carried to this version, and
nothing else; distances and queries do not depend on them.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from dxprivacy.errors import did_you_mean
from dxprivacy.policy.toml_file import UNPRINTABLE, PolicyFile
from dxprivacy.universe.attribute_matching import Recoding
from dxprivacy.universe.attributes.attribute import Attribute, as_text


def recoding_of(file: PolicyFile, attribute: Attribute, table: dict[str, Any]) -> Recoding:
    """Return the recoding that an attribute's table declares; empty if it declares none."""
    section = f"attributes.{attribute.name}"
    return Recoding(_texts(file, section, attribute, table), _column(file, section, attribute, table))


def version_text(given: Any) -> str:
    """Return a version as written: 1.10 is not 1.1."""
    return str(given) if isinstance(given, Decimal) else as_text(given)


def was_version(file: PolicyFile, given: Any, version: str, recoded: Mapping[str, Recoding]) -> str:
    """Return the version before, which `was` and `was_column` require: else costs might be carried over twice."""
    if not recoded:
        if given is not None:
            raise file.error("was_version means nothing without was", key="was_version", hints=[("remove it", "")])
        return ""
    if isinstance(given, (dict, list, bool)) or given is None or UNPRINTABLE.search(str(given)):
        raise file.error(
            "was and was_column need was_version, the version before",
            section=f"attributes.{next(iter(recoded))}",
            key="was" if next(iter(recoded.values())).texts else "was_column",
            hints=[('was_version = "1"', "at the top of the file: the version before this one")],
        )
    before = version_text(given)
    if before == version:
        raise file.error(
            f"was_version is {before}, and so is version",
            key="was_version",
            hints=[('version = "2"', "a name of its own for each version")],
        )
    return before


def _is_value(given: Any) -> bool:
    return isinstance(given, (str, int)) or (isinstance(given, Decimal) and given.is_finite())


def _column(file: PolicyFile, section: str, attribute: Attribute, table: dict[str, Any]) -> str:
    if "was_column" not in table:
        return ""
    column = table["was_column"]
    if not isinstance(column, str) or not column.strip() or UNPRINTABLE.search(column):
        raise file.error("was_column must be a name", section=section, key="was_column", hints=['was_column = "old"'])
    if column == attribute.column:
        raise file.error(
            f"{attribute.name}: was_column is still its column",
            section=section,
            key="was_column",
            hints=[("remove it", "or give the new name as column")],
        )
    return column


def _texts(file: PolicyFile, section: str, attribute: Attribute, table: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    if "was" not in table:
        return {}
    given, listed = table["was"], attribute.texts
    if not listed:
        raise file.error(
            f"{attribute.name}: was is for values, points and graphs, not for {attribute.kind}",
            section=section,
            key="was",
            hints=[("was_column", "says that a column was renamed")],
        )
    if not isinstance(given, dict):
        raise file.error("was is a table", section=section, key="was", hints=['was = { A1 = "A", A2 = "A" }'])
    out: dict[str, tuple[str, ...]] = {}
    for new, before in given.items():
        if new not in listed:
            raise file.error(
                f"{attribute.name} has no value {new[:60]!r}; was maps values to those of the version before",
                section=section,
                key="was",
                hints=did_you_mean(new, listed),
            )
        olds = before if isinstance(before, list) else [before]
        texts = tuple(dict.fromkeys(as_text(x) for x in olds))
        if not texts or not all(map(_is_value, olds)) or any(map(UNPRINTABLE.search, texts)):
            raise file.error(
                f"{attribute.name}: was of {new[:60]} must be a value or a list of values of the version before",
                section=section,
                key="was",
                hints=[f'was = {{ {new[:20]} = "A" }}'],
            )
        out[new] = texts
    return out
