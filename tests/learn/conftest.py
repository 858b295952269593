import pytest

from surefoot.learn.task import biped


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the policies of a module are written, once each."""
    return tmp_path_factory.mktemp("policies")


@pytest.fixture(scope="session")
def task(go2):
    """Standing up and walking on hind legs."""
    return biped(go2)
