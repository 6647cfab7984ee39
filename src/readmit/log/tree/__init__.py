"""The signed tree over commits, the map of index digests, and the checks of a log against both."""
