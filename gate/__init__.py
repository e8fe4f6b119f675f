"""The Gate: decides every command; the only way to the driver."""
