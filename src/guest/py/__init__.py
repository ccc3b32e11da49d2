"""The part of a session that is written in Python. Runs inside the jail, where nothing can be trusted."""
