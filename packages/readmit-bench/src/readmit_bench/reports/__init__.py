"""Reports: tables beside the published ones, figures, and a page per episode."""
