"""What synthetic histograms have in common, and which method is expected to make the better one."""
