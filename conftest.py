"""Settings of this checkout. The plugin itself comes by its entry point; hypothesis profiles are in tests/."""

pytest_plugins = ["pytester"]
