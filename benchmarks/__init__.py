"""Speed and scale: one runnable file per question, figures as ratios within one run."""
