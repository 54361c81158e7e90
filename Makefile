# `make demo` and `make test` work in a fresh clone with python3 >= 3.11: they make .venv and install into it.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(BIN)/whippletree
MODEL ?= models/whippletree.toml
START ?= --q hook=0.3 --q left_pin=0.7 --q right_pin=-0.9
UNTIL ?= 3
FAMILY ?= chain

.PHONY: demo test coverage lint bench docs clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.core                ## simulate a model: plots, NetCDF file and HTML report in demo/
	@mkdir -p demo
	$(RUN) run $(MODEL) --until $(UNTIL) $(START) -o demo/demo.nc --plot demo/demo.svg --plot demo/demo.png --report demo/demo.html --animate demo/moving.html
	@echo "look at demo/demo.html (report), demo/moving.html (animation), demo/demo.png and demo/demo.svg (plot), demo/demo.nc (numbers)"

test: lint $(VENV)/.test           ## all the checks
	$(BIN)/pytest -n 2 --dist loadfile

coverage: $(VENV)/.test           ## the tests, with the lines and branches of the Python layer that they reach
	$(BIN)/pytest -n 2 --dist loadfile --cov --cov-report=term:skip-covered --cov-fail-under=90

lint: $(VENV)/.test                ## format, lint and types only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.peers              ## time against other engines: make bench FAMILY=robot
	$(RUN) bench $(FAMILY) --against pinocchio,mujoco,drake,exudyn

docs: $(VENV)/.docs                ## the documentation as a site in site/
	$(BIN)/mkdocs build --strict
	@echo "open site/index.html"

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
$(VENV)/.core $(VENV)/.test $(VENV)/.peers $(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable "$(extras)"
	@touch $@
