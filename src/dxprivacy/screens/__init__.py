"""Screens: lines for people, made of values.  They decide nothing."""
