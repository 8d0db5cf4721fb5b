"""The Laplace mechanism: whole answers and exact noise, counted as asked or in a better way and worked out."""
