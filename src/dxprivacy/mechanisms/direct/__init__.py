"""Direct fit: a synthetic histogram that fits the noisy counts of an ordinary plan."""
