// Against the real server that `make test-typescript` starts.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { connect, ProblemError, type Fallen } from "../src/index.js";

const url = process.env["READMIT_URL"];
assert.ok(url, "READMIT_URL: run make test-typescript, which starts a server");
const team = connect(url, { key: "all", workspace: "team" });

/** A task of its own for each test, with a duty, its evidence, and the agent away. */
async function planned(): Promise<{ task: string; item: string }> {
  const task = `trip-${randomUUID()}`;
  const seen = await team.call("observe", { text: `Sunrise confirms ${task}.` });
  const slot = `hotel.${task}`;
  const item = await team.call("record", { text: "Sunrise is booked", slot, task, sources: [seen] });
  await team.call("oblige", { text: "Book", required: [slot], roles: ["planner"], task });
  await team.agent("planner", task).call("depart", {});
  return { task, item };
}

test("an agent leaves and returns", async () => {
  const { task, item } = await planned();
  const stages: string[] = [];
  const returned = await team.agent("planner", task).comeBack({}, (stage) => stages.push(stage));
  assert.equal(returned.kind, "admitted");
  assert.ok(stages.length > 1);
  const bundle = await returned.expose();
  assert.deepEqual(bundle.items.map((one) => one.text).sort(), ["Book", "Sunrise is booked"]);
  assert.ok(bundle.items.some((one) => one.kind === "fact" && one.id === item));
  await returned.acknowledge();
  await assert.rejects(returned.expose(), (error) => error instanceof ProblemError && error.name === "ExposureError");
  const past = await team.call("returned", { id: returned.id });
  assert.equal(past.decision.return_id, returned.id);
  const why = await team.call("explain", { id: returned.id, item });
  assert.equal(why.disposition.state, "admitted");
  assert.deepEqual((await team.call("replay", { id: returned.id })).differences ?? [], []);
});

test("a blocked return hands over its retractions", async () => {
  const { task, item } = await planned();
  await team.call("revoke", { target: item, reason: "flooded" });
  const returned = await team.agent("planner", task).comeBack();
  assert.equal(returned.kind, "blocked");
  assert.deepEqual(returned.missing, [`hotel.${task}`]);
  const { notice } = await returned.exposeRetractions();
  assert.deepEqual(notice.retractions?.fallen?.map((one) => one.id), [item]);
});

test("an agent learns what falls", { timeout: 30_000 }, async () => {
  const { task, item } = await planned();
  const agent = team.agent("planner", task);
  await (await agent.comeBack()).expose();
  const stopped = new AbortController();
  const fallen: Fallen[] = [];
  const reading = (async () => {
    for await (const one of agent.subscribe(stopped.signal)) {
      fallen.push(one);
      stopped.abort();
    }
  })();
  await team.call("revoke", { target: item });
  await reading;
  assert.deepEqual(fallen.map((one) => [one.item, one.state]), [[item, "revoked"]]);
});

test("a listing is read page after page", async () => {
  const task = `many-${randomUUID()}`;
  const names = [1, 2, 3, 4, 5].map((number) => `${task}/${number}`);
  for (const id of names) {
    await team.call("record", { text: `Statement ${id}`, id, task });
  }
  const found: string[] = [];
  for await (const entry of team.entries("items", { task, limit: 2 })) {
    found.push(entry.item.id);
  }
  assert.deepEqual(found, names);
  const { item } = await team.call("item", { id: `${task}/1` });
  assert.equal(item.item.text, `Statement ${task}/1`);
});

test("several calls are one commit", async () => {
  const before = (await team.call("status", {})).epoch;
  const answers = await team.call("batch", {
    calls: [
      { verb: "observe", given: { text: "one" } },
      { verb: "observe", given: { text: "two" } },
    ],
  });
  assert.equal(answers.length, 2);
  assert.equal((await team.call("status", {})).epoch, before + 2);
});

const REFUSED: Record<string, [() => Promise<unknown>, number, string, string | undefined, RegExp]> = {
  "a wrong value": [() => team.call("revoke", { target: "two words" }), 422, "RecordError", "target", /is not an id/u],
  "an unknown field": [
    () => team.call("revoke", { target: "h", reasn: "x" } as { target: string }),
    422, "RecordError", "reasn", /did you mean reason\?/u,
  ],
  "an unknown item": [() => team.call("item", { id: "never" }), 404, "UnknownError", undefined, /no item 'never'/u],
  "another workspace": [
    () => connect(url, { key: "all", workspace: "rivals" }).call("status", {}),
    404, "UnknownError", undefined, /no workspace 'rivals'/u,
  ],
  "no right": [
    () => connect(url, { key: "agent", workspace: "team" }).call("revoke", { target: "h" }),
    403, "NotAllowedError", "revoke", /does not have the right write/u,
  ],
  "a wrong key": [() => connect(url, { key: "guess", workspace: "team" }).call("status", {}), 401, "CredentialError", undefined, /./u],
};

for (const [name, [call, status, kind, field, says]] of Object.entries(REFUSED)) {
  test(`refused: ${name}`, async () => {
    await assert.rejects(call(), (error) => {
      assert.ok(error instanceof ProblemError);
      assert.deepEqual([error.status, error.name, error.field], [status, kind, field]);
      assert.match(error.message, says);
      return true;
    });
  });
}
