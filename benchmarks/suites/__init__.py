"""Suites of `interlock bench`: the same programs straight to the driver and through the Gate."""
