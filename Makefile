# Everything sets itself up: python3 (>= 3.11) and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_STAMP := $(VENV)/.run-$(shell cat pyproject.toml requirements.txt 2>/dev/null | cksum | cut -d' ' -f1)
DEV_STAMP := $(VENV)/.dev-$(shell cat pyproject.toml requirements-dev.txt 2>/dev/null | cksum | cut -d' ' -f1)
# Tests run on all cores; each worker's numpy stays on one thread.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Each worker reads all tests: the second time as they were compiled the first, also where bytecode is not kept by default.
KEEPING := PYTHONDONTWRITEBYTECODE=
ELSEWHERE := not soak and not spark and not cluster and not site
LOWEST := tests/oracle tests/ledger tests/privacy tests/unit/metrics tests/unit/policy -m "not slow and not soak and not spark and not cluster"

DOCS_STAMP := $(VENV)/.docs-$(shell cat pyproject.toml requirements-docs.txt 2>/dev/null | cksum | cut -d' ' -f1)

.PHONY: help demo test test-slow test-cluster test-lowest check fix docs wheel bench bench-quick bench-engines soak golden mutants lock clean
help:            ## what you can do
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
demo: $(RUN_STAMP)   ## the two-minute tour: a private release of simulated data, written to build/demo
	@$(BIN)/dxp demo --write build/demo --overwrite
test: $(DEV_STAMP)   ## every test, long ones in a short form (at most 8 minutes on two cores)
	@$(BIN)/python -m compileall -q src
	@mkdir -p build
	$(KEEPING) $(BIN)/pytest -q -n auto --dist worksteal -m "not slow and $(ELSEWHERE)" --durations-to=build/durations.txt
test-slow: $(DEV_STAMP) ## the long forms of the tests, and those with Spark (at most 25 minutes on two cores)
	@$(BIN)/python -m compileall -q src
	$(KEEPING) $(BIN)/pytest -q -n auto --dist worksteal -m "slow and $(ELSEWHERE)"
	$(KEEPING) $(BIN)/pytest -q -m "spark and not soak"
test-cluster: $(DEV_STAMP) ## a Spark Connect server, a cluster that loses an executor (a minute and a half; needs Java)
	$(KEEPING) $(BIN)/pytest -q -m cluster tests/engines/test_spark_elsewhere.py
check: $(DEV_STAMP)  ## lint, format, types, import contracts, dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/deptry src
fix: $(DEV_STAMP)    ## format and mend what a machine can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
docs: $(DOCS_STAMP)  ## the site in build/site, offline; every notebook and command in it is run, warnings are errors
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/site
	$(KEEPING) $(BIN)/pytest -q -n auto -m "site and not soak" tests/repo
	@echo "open build/site/index.html"
wheel: $(DEV_STAMP)  ## wheel and sdist in build/dist, each installed into an empty environment and used
	@rm -rf build/dist
	$(BIN)/python -m build -q --no-isolation --outdir build/dist .
	$(BIN)/python packaging/smoke.py build/dist/*.whl
	$(BIN)/python packaging/smoke.py build/dist/*.tar.gz
test-lowest: $(DEV_STAMP) ## the tests of a few packages with the oldest packages that we say we work with
	@test -x build/lowest/bin/python || $(BIN)/uv venv -q build/lowest --python $(BIN)/python
	$(BIN)/uv pip install -q --python build/lowest/bin/python --resolution lowest-direct -e . "pandas>=2.2.3" "pyarrow>=17"
	$(BIN)/uv pip install -q --python build/lowest/bin/python pytest hypothesis mpmath opendp polars
	OPENBLAS_NUM_THREADS=1 build/lowest/bin/python -m pytest -q -p no:cacheprovider $(LOWEST)
bench: $(DEV_STAMP)  ## speed, memory and noise against their peers and targets, in at most 15 minutes; writes docs/benchmarks.md
	$(BIN)/python -m benchmarks
bench-quick: $(DEV_STAMP) ## the most telling ratios, in a minute; fails where one was lost
	$(BIN)/python -m benchmarks.quick
bench-engines: $(DEV_STAMP) ## DuckDB, PostgreSQL and Spark against their bare GROUP BY, up to a hundred million rows (8 GB of disk)
	$(BIN)/python -m benchmarks engines
soak: $(DEV_STAMP)   ## the longest forms of the tests, kept out of CI
	$(BIN)/pytest -q -n auto --dist worksteal -m "soak and not spark"
	$(BIN)/pytest -q -m "soak and spark"
golden: $(DEV_STAMP) ## compare the numbers of 2,000 random models with those in tests/golden/numbers.jsonl
	PYTHONPATH=tests $(BIN)/python -m golden compare
mutants: $(DEV_STAMP) ## plants small privacy bugs one at a time, and shows that the tests notice each
	PYTHONPATH=tests $(BIN)/python -m mutants
lock: $(DEV_STAMP)   ## renew the pinned, hashed requirements
	$(BIN)/python -m pip install -q uv
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --group build pyproject.toml -o requirements.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --group build --group test --group check --all-extras pyproject.toml -o requirements-dev.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header -c requirements-dev.txt --all-extras pyproject.toml -o requirements-extras.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header -c requirements-dev.txt --group build --group test --group check --group docs --all-extras pyproject.toml -o requirements-docs.txt
clean:           ## remove everything that was made
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis

# uv installs several times faster than pip; where it cannot be had, pip does the same.  Modules are compiled here, once: where
# Python is told not to keep bytecode, every command would compile what it imports again, which takes longer than its work.
define install
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check uv 2>/dev/null || true
	@if test -x $(BIN)/uv; then $(BIN)/uv pip install -q --compile-bytecode --python $(BIN)/python --require-hashes -r $(1) && \
	  $(BIN)/uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .; \
	else $(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r $(1) && \
	  $(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .; fi
	@$(BIN)/python -m compileall -q src
	@rm -f $(VENV)/.run-* ; touch $(2)
endef
$(RUN_STAMP):
	$(call install,requirements.txt,$(RUN_STAMP))
$(DEV_STAMP):
	$(call install,requirements-dev.txt,$(RUN_STAMP))
	@rm -f $(VENV)/.dev-* ; touch $(DEV_STAMP)
$(DOCS_STAMP): $(DEV_STAMP)
	$(call install,requirements-docs.txt,$(RUN_STAMP))
	@rm -f $(VENV)/.docs-* ; touch $(DOCS_STAMP)
