"""The four reference programs: put the red cup on the tray, written as a user would."""
