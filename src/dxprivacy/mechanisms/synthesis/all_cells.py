"""What makes whole records needs a number for each possible one: refused, from public numbers, where too many."""

from dxprivacy.errors import TooLarge
from dxprivacy.model.universe import Universe

MOST_CELLS = 1 << 28


def require_all_cells(universe: Universe, what: str) -> None:
    """Refuse a universe whose cells cannot all be held, and say which attributes make it so large."""
    if universe.cells <= MOST_CELLS:
        return
    sizes = sorted(universe.attributes, key=lambda a: -a.size)
    raise TooLarge(
        f"{what} needs a number for each of {universe.cells:,} possible records; at most {MOST_CELLS:,} can be held",
        details=[" × ".join(f"{a.name} {a.size:,}" for a in sizes)],
        hints=[
            ("dxp plan", "answers questions about universes of any size"),
            ("a policy with the attributes that are to be made", "columns that it does not name are never read"),
            ("wider steps", "for numbers and dates: step = …"),
        ],
    )
