"""The agent side of the robot bridge: connect, adapt, infer, batch, drive."""
