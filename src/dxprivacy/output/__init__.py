"""What people see: text, charts and pages.  Reads values and computes nothing about privacy.

In reading order: `text`, `pages`, `charts`.
"""
