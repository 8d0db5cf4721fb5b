"""Making records needs a number for each possible one: which attributes count, and what is refused as too large."""

from dxprivacy.errors import TooLarge
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload

MOST_CELLS = 1 << 28


def asked_universe(workload: Workload) -> Universe:
    """The universe of the attributes that some query touches: the others tell nothing about the answers.

    >>> from dxprivacy.queries.asking import gather
    >>> from dxprivacy.universe.attributes.integers import Integers
    >>> u = Universe([Integers(name=name, low=0, high=9, has_other=False) for name in ("age", "rooms")])
    >>> asked_universe(gather("count by age").on(u)).names
    ('age',)
    """
    universe = workload.universe
    asked = {axis for block in workload.blocks for axis in block.axes} or {0}
    if len(asked) == len(universe.attributes):
        return universe
    return universe.like(universe.attributes[axis] for axis in sorted(asked))


def require_all_cells(universe: Universe, what: str, *, asked: Universe | None = None, most: int = MOST_CELLS) -> None:
    """Refuse a universe of too many possible records, and say which attributes make it so large.

    `asked` are the attributes that count, where these are not all of them.
    """
    counted = universe if asked is None else asked
    if counted.cells <= most:
        return
    sizes = sorted(counted.attributes, key=lambda a: -a.size)
    unasked = [a.name for a in universe.attributes if a.name not in counted.names]
    raise TooLarge(
        f"{what} needs a number for each of {counted.cells:,} possible records; at most {most:,} fit into memory",
        details=[
            " × ".join(f"{a.name} {a.size:,}" for a in sizes),
            *([f"No query asks about {', '.join(unasked)}: these do not count."] if unasked else []),
        ],
        hints=[
            ("fewer queries at a time", "attributes that no query asks about do not count (method direct)"),
            ("wider steps", "for numbers and dates: step = …"),
            ("dxp plan", "answers queries about universes of any size"),
        ],
    )
