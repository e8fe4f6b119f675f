"""What decides: skills, programs, VLA clients, LLM agents."""
