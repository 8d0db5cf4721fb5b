"""Output for people: terminal output, charts and HTML pages.  Renders values and computes nothing about privacy.

In reading order: `text`, `charts`, `pages`.
"""
