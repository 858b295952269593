# Both commands set up all they need: a virtual environment in .venv, the package and its tools.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := demo
TWIN ?= go2-identified

.PHONY: test demo lint setup clean

test: setup lint
	$(BIN)/python -m pytest -n 2

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

demo: setup
	@mkdir -p $(DEMO)
	$(BIN)/surefoot robot check go2 --out $(DEMO)/go2.png
	$(BIN)/surefoot record --twin $(TWIN) --policy trot --rollouts 64 --seconds 4 --seed 7 --out $(DEMO)/$(TWIN).parquet

setup: $(VENV)/.ready

# The mark is newer than pyproject.toml once everything is installed.
$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev,train]'
	@touch $@

clean:
	rm -rf $(VENV) $(DEMO)
