"""Screens as their words stand in them, whatever the columns are wide."""


def squeezed(text):
    return [" ".join(line.split()) for line in text.splitlines()]
