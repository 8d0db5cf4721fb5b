"""Charts of released answers, maps and synthetic records.

In reading order: `answer_panels`, `answer_map`, `released_answers`, `synthetic_answers`.
"""
