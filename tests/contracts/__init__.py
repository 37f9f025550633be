"""One suite per port: a backend is whatever passes it. Differences are declared, not skipped."""

import pytest

pytest.register_assert_rewrite(
    "tests.contracts.journal",
    "tests.contracts.journal_subject",
    "tests.contracts.offset_store",
    "tests.contracts.publisher",
)
