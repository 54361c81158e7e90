# `make demo` and `make test` work in a fresh clone with python3 >= 3.11: they make .venv and install into it.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(BIN)/whippletree
NAME ?= whippletree
FAMILY ?= chain
FUZZ_CASES ?= 1000000
FUZZ_SECONDS ?= inf
SOAK_SYSTEMS ?= 20000
SOAK_HARD ?= 100000
SOAK_KILLS ?= 200
SOAK_HOURS ?= 24

unexport PYTHONDONTWRITEBYTECODE  # hundreds of processes that tests start would each compile all sources anew

KERNELS := .cache/kernels
.PHONY: first-use wheel wheel-test pure-wheel-test demo test browser coverage fuzz soak lint bench docs pages pictures clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.core                ## a motion of the gallery: numbers, plot, report and moving picture in demo/
	$(RUN) demo $(NAME) -o demo

test: lint $(VENV)/.test browser   ## all the checks
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder  # as they are named: files that compile the same come apart

coverage: $(VENV)/.test           ## the tests, with the lines and branches of the Python layer that they reach
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder --cov --cov-report=term:skip-covered --cov-fail-under=90

# the viewer is tested in Chromium: installed where we may, and where we may not those tests say that they were skipped
browser:
	@if ! command -v chromium >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  (apt-get update && timeout 300 apt-get install -y --no-install-recommends chromium) >/dev/null 2>&1 || true; fi

fuzz: $(VENV)/.fuzz                ## wrong files for every reader, goes on where it stopped: make fuzz FUZZ_SECONDS=60
	$(BIN)/python tests/support/fuzz.py --cases $(FUZZ_CASES) --seconds $(FUZZ_SECONDS) $(READERS)
	! $(BIN)/python -c 'import atheris' || $(BIN)/python tests/support/fuzz.py --coverage --cases $(FUZZ_CASES) --seconds $(FUZZ_SECONDS) $(READERS)

soak: $(VENV)/.test                ## hours: random and hard systems by every algorithm, kills and resumes, a day of a loop
	$(BIN)/python tests/support/soak_agreement.py $(SOAK_SYSTEMS)
	$(BIN)/python tests/support/soak_adversary.py $(SOAK_HARD) --scissors 1000
	rm -rf .cache/kills && mkdir -p .cache/kills && $(BIN)/python tests/support/killed_runs.py .cache/kills $(SOAK_KILLS) 1
	$(BIN)/python tests/support/soak_day.py $(SOAK_HOURS)

lint: $(VENV)/.test                ## format, lint and types only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.peers              ## time against other engines: make bench FAMILY=robot
	$(RUN) bench $(FAMILY) --against pinocchio,mujoco,drake,exudyn

first-use: $(VENV)/.core           ## what a user waits for at first: make first-use ACTIONS='"ten lines" loop'
	$(BIN)/python -m whippletree_lab.wheels.first_use $(ACTIONS)

wheel: $(VENV)/.core               ## in dist/: one wheel with compiled kernels for this Python, and one without; many minutes
	$(BIN)/python -m whippletree_lab.wheels.kernels $(KERNELS)
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .
	WHIPPLETREE_KERNELS=$(KERNELS) $(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

wheel-test: $(VENV)/.core          ## the wheel of `make wheel` in a new environment: a user's first actions compile nothing
	$(BIN)/python -m whippletree_lab.wheels.check dist/*-none-manylinux*.whl

pure-wheel-test: $(VENV)/.core     ## a wheel without kernels in a new environment, by the README's ten lines
	rm -rf .cache/pure && $(BIN)/pip wheel --quiet --no-deps --wheel-dir .cache/pure .
	$(BIN)/python -m whippletree_lab.wheels.check .cache/pure/*.whl "ten lines"

docs: $(VENV)/.docs                ## the documentation as a site in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html; with its search: $(BIN)/python -m http.server -d site, and http://localhost:8000"

pages: $(VENV)/.core               ## pages of the documentation that are made from the code
	$(BIN)/python docs/site/errors.py
	$(BIN)/python docs/site/benchmarks.py
	$(BIN)/python docs/site/notebooks.py
	$(BIN)/python docs/site/gallery.py --page

pictures: $(VENV)/.core            ## the moving pictures of the gallery, in some minutes
	$(BIN)/python docs/site/gallery.py

clean:
	rm -rf $(VENV) site demo .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("whippletree needs Python 3.11 or newer: make PYTHON=python3.12 demo" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# one stamp per set of extras; each is made again when pyproject.toml changes
$(VENV)/.core: extras = .
$(VENV)/.test: extras = .[test]
$(VENV)/.peers: extras = .[test,peers]
$(VENV)/.docs: extras = .[docs]
$(VENV)/.fuzz: extras = .[test,fuzz]
$(VENV)/.core $(VENV)/.test $(VENV)/.peers $(VENV)/.docs $(VENV)/.fuzz: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable "$(extras)"
	@touch $@
