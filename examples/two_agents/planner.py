"""The agent that leaves and comes back, in a process of its own. It reads a line from ``both.py`` before each act."""

from __future__ import annotations

import os
import sys

from readmit.remote import connect

with connect(os.environ["READMIT_URL"], key=os.environ["READMIT_API_KEY"], name="trip") as trip:
    planner = trip.agent("A1", role="planner", task="family-trip")
    planner.depart()
    print("A1 is away", flush=True)

    sys.stdin.readline()
    returned = planner.come_back()
    print(f"A1 is {returned.kind} with {', '.join(returned.items)}")
    for item in returned.expose().items:
        print(f"  {item.text}")
    returned.acknowledge()
    with planner.subscribe() as fallen:
        print("A1 works on", flush=True)
        for one in fallen:
            print(f"A1 hears that {one.item} is {one.state}", flush=True)
            break
