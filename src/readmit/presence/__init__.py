"""Who is away and since when: absences, leases, and subscriptions of agents that hold a view."""
