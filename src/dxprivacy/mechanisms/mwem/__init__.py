"""MWEM: a synthetic histogram that learns, round by round, from the answer it gets most wrong."""
