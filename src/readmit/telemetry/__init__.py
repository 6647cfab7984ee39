"""Spans and measurements for OpenTelemetry. Without it they cost a look into a dictionary."""
