"""Noise that agrees with itself: what it comes to, and which weights make it least.  Arrays in, arrays out."""
