"""The state that an agent could see at departure, what happened since, and the one state that results."""
