import pytest


@pytest.fixture
def refused(surefoot):
    """A command line is answered with exactly one line on standard error that holds all parts, and exit code 2."""

    def call(*arguments: object, says: tuple[str, ...] = ()) -> None:
        code, out, error = surefoot(*arguments)
        assert code == 2
        assert out == ""
        assert error.startswith("surefoot: ")
        assert error.endswith("\n")
        assert error.count("\n") == 1
        for part in says:
            assert part in error

    return call
