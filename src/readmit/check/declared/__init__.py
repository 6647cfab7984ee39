"""What manifests and settings of a tree declare: versions, packages and values."""
