"""Questions: what can be asked, in Python, in words and in JSON, and what it means over a universe."""
