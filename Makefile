.PHONY: check test test-dora

check:
	ruff check .
	ruff format --check .
	mypy

test:
	pytest -q -n auto

test-dora:
	pytest -q -m dora
