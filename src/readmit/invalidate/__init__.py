"""What has lost its standing since it was recorded, and through what."""
