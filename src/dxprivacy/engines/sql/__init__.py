"""The SQL that counts, whatever engine runs it: expressions rendered by a dialect, queries made of them."""
