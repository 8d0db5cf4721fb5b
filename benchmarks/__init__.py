"""Speed and noise, as ratios within one run, with the peer or the brute force beside ours."""
