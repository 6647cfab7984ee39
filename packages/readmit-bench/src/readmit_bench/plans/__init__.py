"""What a run would ask, take and cost, before anything is asked."""
