"""The demo: a simulated survey, and the story it tells."""
