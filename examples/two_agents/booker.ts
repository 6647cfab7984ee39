// The agent that goes on meanwhile, in a process of its own. Reads a line before each act: `both.py` writes it.
import { once } from "node:events";
import { createInterface } from "node:readline";

import { connect } from "readmit-client";

const { READMIT_URL = "", READMIT_API_KEY = "" } = process.env;
const trip = connect(READMIT_URL, { key: READMIT_API_KEY, workspace: "trip" });
const lines = createInterface({ input: process.stdin });

await trip.call("oblige", { id: "o_h", text: "Know the hotel", required: ["hotel"], roles: ["planner"], task: "family-trip" });
const booking = await trip.call("observe", { text: "Sunrise confirms two nights." });
await trip.call("record", { id: "h0", text: "Sunrise Hotel is booked", slot: "hotel", sources: [booking] });
console.log("A2 booked Sunrise");

await once(lines, "line");
const change = await trip.call("observe", { text: "Sunrise cancels. Riverside confirms two nights." });
await trip.call("record", { id: "h1", text: "Riverside Hotel is booked", slot: "hotel", sources: [change], expects: "h0" });
console.log("A2 booked Riverside instead");

await once(lines, "line");
await trip.call("revoke", { target: "h1", reason: "Riverside is flooded" });
console.log("A2 withdrew h1");
lines.close();
