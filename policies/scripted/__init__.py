"""Programs that ship with Interlock."""
