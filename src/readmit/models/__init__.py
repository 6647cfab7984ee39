"""Language models and embedders behind the ports. Each provider imports its library inside the call."""
