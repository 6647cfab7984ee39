"""The paper, pure and top to bottom: ``cycle`` strings the stages together."""
