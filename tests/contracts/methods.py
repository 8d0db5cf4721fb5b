"""Which methods count just the rows that were asked for, so that a plan's scales are those of its questions."""

from dxprivacy.planning.methods import MAKERS

OWN = tuple(maker.name for maker in MAKERS if maker.propose is not None)
