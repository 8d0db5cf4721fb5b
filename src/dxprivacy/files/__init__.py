"""Files: what is read and written, in one canonical text, and never over what is not ours."""
