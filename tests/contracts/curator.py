"""What the curator of a test's folder says on the command line; nothing in a plan says it."""

CURATOR = ("--policy", "policy.toml", "--new-ledger")
