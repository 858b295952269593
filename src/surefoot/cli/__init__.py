"""The command line: verbs in, one sentence for every mistake out. Logic lives in the packages below."""

from surefoot.cli.main import main

__all__ = ["main"]
