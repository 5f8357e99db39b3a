"""The examples in the docstrings of onevoice.testing run and show what they say."""

import asyncio
import doctest
import pkgutil
from importlib import import_module

import pytest

import onevoice.testing

MODULES = [module.name for module in pkgutil.iter_modules(onevoice.testing.__path__, "onevoice.testing.")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name: str) -> None:
    """Each module of the package has at least one example, and all of them hold."""
    results = doctest.testmod(import_module(name), extraglobs={"asyncio": asyncio})

    assert results.attempted > 0
    assert results.failed == 0
