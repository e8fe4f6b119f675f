"""Serve a simulator or a robot to outside agents over the openpi/0 websocket."""
