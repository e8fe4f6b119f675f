"""The vocabulary of the graph: stamps, message types, their Arrow form, and errors."""
