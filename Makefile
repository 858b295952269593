# Both commands set up all they need: a virtual environment in .venv, the package and its tools.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TWIN ?= go2-identified
# Another virtual robot gets a folder of its own: a loop goes on where it stopped, with the same inputs only.
DEMO = demo$(if $(filter-out go2-identified,$(TWIN)),/$(basename $(notdir $(TWIN))))

.PHONY: test demo lint setup clean

test: setup lint
	$(BIN)/python -m pytest -n 2

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The whole loop on a virtual robot, about a quarter of an hour; stopped, the same command goes on. Exit codes 3 (NO-GO) and 4 (no gap)
# are ways for a loop to end, and its last lines say so.
demo: setup
	$(BIN)/surefoot loop --twin $(TWIN) --policy walk --out $(DEMO) || { code=$$?; [ $$code -eq 3 ] || [ $$code -eq 4 ]; }

setup: $(VENV)/.ready

# The mark is newer than pyproject.toml once everything is installed.
$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev,train]'
	@touch $@

clean:
	rm -rf $(VENV) demo
