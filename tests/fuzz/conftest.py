"""The API's own fixtures, for calls made from its document."""

from tests.http.conftest import *  # noqa: F403
