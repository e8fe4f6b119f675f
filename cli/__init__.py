"""The commands `interlock` and `robo`."""
