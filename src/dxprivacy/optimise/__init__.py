"""Optimisers: arrays in, arrays out.  They propose; certificates decide."""
