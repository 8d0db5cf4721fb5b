"""Small privacy bugs, planted one at a time: each must be noticed by the test that the table names (`make mutants`)."""
