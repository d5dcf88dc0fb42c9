"""Settings of this checkout's tests are in pyproject.toml and tests/conftest.py; the plugin comes by its entry point.

Nothing stands here, because the suite is also run from other folders, whose sessions must not take over our settings.
"""
