// What a network, a proxy and a busy server do to a client.
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { eventsOf } from "../src/events.js";
import { connect, ProblemError } from "../src/index.js";

interface Received {
  readonly path: string | undefined;
  readonly key: string | undefined;
  readonly body: string;
}
type Handler = (answer: ServerResponse, request: IncomingMessage) => void;

/** A server that answers with each of some answers, then with the last one again. */
async function scripted(handlers: Handler[], story: (url: string, received: Received[]) => Promise<void>): Promise<void> {
  const received: Received[] = [];
  const server = createServer((request, answer) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      received.push({ path: request.url, key: request.headers["idempotency-key"] as string | undefined, body });
      (handlers.length > 1 ? handlers.shift() : handlers[0])?.(answer, request);
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  try {
    await story(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, received);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const json = (value: unknown): Handler => (answer) => {
  answer.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
};
const problem = (status: number, type: string, headers: Record<string, string> = {}): Handler => (answer) => {
  const body = JSON.stringify({ type: `/problems/${type}`, title: type, status, detail: "why" });
  answer.writeHead(status, { "content-type": "application/problem+json", ...headers }).end(body);
};
const stream = (text: string): Handler => (answer) => {
  answer.writeHead(200, { "content-type": "text/event-stream" }).end(text);
};
const lost: Handler = (_, request) => request.socket.destroy();
const page: Handler = (answer) => answer.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad gateway</h1>");

test("a server that is busy is asked again when it says", async () => {
  await scripted([problem(503, "StoreError", { "retry-after": "1" }), problem(429, "RateError", { "retry-after": "0" }), json("d1")], async (url, received) => {
    const begun = performance.now();
    assert.equal(await connect(url, { key: "k" }).call("observe", { text: "It rains." }), "d1");
    assert.ok(performance.now() - begun >= 1_000);
    assert.equal(new Set(received.map((one) => one.key)).size, 1);
    assert.equal(received.length, 3);
  });
});

test("an answer that was lost is asked for again under the same key", async () => {
  await scripted([lost, page, json("d1")], async (url, received) => {
    const team = connect(url, { key: "k", workspace: "trip/é" });
    assert.equal(await team.call("observe", { text: "It rains." }), "d1");
    assert.equal(received.length, 3);
    assert.equal(new Set(received.map((one) => `${one.path} ${one.key} ${one.body}`)).size, 1);
    assert.equal(received[0]?.path, "/v1/workspaces/trip%2F%C3%A9/observe");
    await team.call("observe", { text: "It rains." });
    assert.notEqual(received[3]?.key, received[0]?.key);
  });
});

for (const [name, handler] of Object.entries({ lost, page })) {
  test(`what a server would do twice is not sent again: ${name}`, async () => {
    await scripted([handler, json(["d1"])], async (url, received) => {
      await assert.rejects(connect(url, { key: "k" }).call("observe_many", { observations: ["It rains."] }), {
        name: "StoreError",
      });
      assert.equal(received.length, 1);
    });
  });
}

test("a limit of the policy is an error at once", async () => {
  await scripted([problem(429, "RateError"), json(1)], async (url, received) => {
    await assert.rejects(connect(url, { key: "k" }).call("revoke", { target: "h" }), { name: "RateError" });
    assert.equal(received.length, 1);
  });
});

test("patience ends", async () => {
  await scripted([problem(429, "RateError", { "retry-after": "3600" })], async (url) => {
    await assert.rejects(connect(url, { key: "k", patience: 0.5 }).call("status", {}), { name: "RateError", message: "why" });
  });
  await assert.rejects(connect("http://127.0.0.1:1", { key: "k", patience: 0.2 }).call("status", {}), {
    name: "StoreError",
    message: /^http:\/\/127.0.0.1:1 does not answer: /u,
  });
});

test("a redirect is not followed", async () => {
  await scripted([json("stolen")], async (elsewhere, received) => {
    const moved: Handler = (answer) => answer.writeHead(307, { location: elsewhere }).end();
    await scripted([moved], async (url) => {
      await assert.rejects(connect(url, { key: "k" }).call("status", {}), { name: "StoreError" });
      assert.deepEqual(received, []);
    });
  });
});

test("a return whose stream is lost is asked for again", async () => {
  const stage = 'event: stage\ndata: {"stage":"read"}\n\n';
  const answer = { id: "r", kind: "blocked", admitted: false, missing: ["d"] };
  const handlers = [stream(stage), lost, stream(`${stage}event: returned\ndata: ${JSON.stringify(answer)}\n\n`)];
  await scripted(handlers, async (url) => {
    const stages: string[] = [];
    const returned = await connect(url, { key: "k" }).agent("planner", "trip").comeBack({}, (one) => stages.push(one));
    assert.deepEqual([returned.id, returned.missing, stages], ["r", ["d"], ["read", "read"]]);
  });
});

test("a stream that ends with a problem is an error, and a page is no stream", async () => {
  const refused = JSON.stringify({ type: "/problems/UnknownError", title: "x", status: 404, detail: "has not departed" });
  await scripted([stream(`event: problem\ndata: ${refused}\n\n`)], async (url) => {
    await assert.rejects(connect(url, { key: "k" }).agent("planner", "trip").comeBack(), {
      name: "UnknownError",
      message: "has not departed",
    });
  });
  const login: Handler = (answer) => answer.writeHead(200, { "content-type": "text/html" }).end("<h1>Log in</h1>");
  await scripted([login], async (url, received) => {
    await assert.rejects(connect(url, { key: "k" }).agent("planner", "trip").comeBack(), { name: "StoreError" });
    await assert.rejects(connect(url, { key: "k" }).call("status", {}), { name: "StoreError" });
    assert.equal(received.length, 2);
  });
});

test("a subscription survives a lost stream, and ends when it is left or stopped", { timeout: 30_000 }, async () => {
  const fallen = 'event: fallen\ndata: {"return_id":"r","item":"h","state":"revoked"}\n\n';
  await scripted([stream(fallen), lost, stream(fallen)], async (url) => {
    const agent = connect(url, { key: "k" }).agent("planner", "trip");
    const found: string[] = [];
    for await (const one of agent.subscribe()) {
      found.push(one.item);
      if (found.length === 3) {
        break;
      }
    }
    assert.deepEqual(found, ["h", "h", "h"]);
  });
  await scripted([lost], async (url) => {
    const stopped = new AbortController();
    setTimeout(() => stopped.abort(), 100);
    const found: unknown[] = [];
    for await (const one of connect(url, { key: "k" }).agent("planner", "trip").subscribe(stopped.signal)) {
      found.push(one);
    }
    assert.deepEqual(found, []);
  });
});

test("a subscription that heard nothing for long survives a lost stream too", { timeout: 30_000 }, async () => {
  const fallen = 'event: fallen\ndata: {"return_id":"r","item":"h","state":"revoked"}\n\n';
  const quiet: Handler = (answer) => {
    answer.writeHead(200, { "content-type": "text/event-stream" }).write(": a heartbeat\n\n");
    setTimeout(() => answer.destroy(), 1_500);
  };
  await scripted([quiet, lost, stream(fallen)], async (url) => {
    for await (const one of connect(url, { key: "k", patience: 1 }).agent("planner", "trip").subscribe()) {
      assert.equal(one.item, "h");
      break;
    }
  });
});

for (const url of ["team.db", "ftp://localhost", "https://me:secret@host", "https://host/?a=1", "http://readmit.example"]) {
  test(`no key is sent to ${url}`, () => {
    assert.throws(() => connect(url, { key: "k" }), TypeError);
  });
}

test("the key is in no error", async () => {
  const error: unknown = await connect("http://127.0.0.1:1", { key: "very-secret", patience: 0 }).call("status", {}).catch((one) => one);
  assert.ok(error instanceof ProblemError);
  assert.ok(!`${error.stack}${JSON.stringify(error)}${String(error.cause)}`.includes("very-secret"));
});

const STREAMS: Record<string, [string[], [string, string][]]> = {
  "one event": [["event: a\ndata: 1\n\n"], [["a", "1"]]],
  "in pieces": [["eve", "nt: a\nda", "ta: 1\n", "\n"], [["a", "1"]]],
  "line breaks of Windows, in pieces": [["event: a\r", "\ndata: 1\r\n\r", "\ndata: 2\r\n\r\n"], [["a", "1"], ["message", "2"]]],
  "line breaks of old Macs": [["event: a\rdata: 1\r\rdata: 2\r\r", "\n"], [["a", "1"], ["message", "2"]]],
  "heartbeats": [[": still here\n\n", "data: 1\n\n", ":\n\n"], [["message", "1"]]],
  "several lines": [["data: 1\ndata: 2\ndata\n\n"], [["message", "1\n2\n"]]],
  "no space": [["data:1\n\n"], [["message", "1"]]],
  "two spaces": [["data:  1\n\n"], [["message", " 1"]]],
  "a colon in it": [['data: {"a":1}\n\n'], [["message", '{"a":1}']]],
  "other line separators of Unicode": [["data: a\u2028b\u0085c\n\n"], [["message", "a\u2028b\u0085c"]]],
  "unknown fields": [["id: 7\nretry: 3\nodd: 1\ndata: 1\n\n"], [["message", "1"]]],
  "an end within an event": [["data: 1\n\ndata: 2\n"], [["message", "1"]]],
  "an event without data": [["event: a\n\ndata: 1\n\n"], [["message", "1"]]],
};

for (const [name, [parts, expected]] of Object.entries(STREAMS)) {
  test(`events: ${name}`, async () => {
    // Each part is sent byte by byte too, so that letters of several bytes are cut.
    for (const cut of [parts, [...new TextEncoder().encode(parts.join(""))].map((byte) => Uint8Array.of(byte))]) {
      const bytes = cut.map((part) => (typeof part === "string" ? new TextEncoder().encode(part) : part));
      const found: [string, string][] = [];
      for await (const { event, data } of eventsOf(new Blob(bytes).size ? ReadableStream.from(bytes) : ReadableStream.from([]))) {
        found.push([event, data]);
      }
      assert.deepEqual(found, expected);
    }
  });
}
