import { eventsOf, type ServerEvent } from "./events.js";
import { ProblemError, problemOf, type Problem } from "./problem.js";

/** How a connection is made. */
export interface Options {
  /** An API key or a token: it says who writes. */
  readonly key: string;
  /** Seconds for which a call is tried while the server is away or busy; 60 if it is left out. */
  readonly patience?: number;
  /** Another `fetch`, for a proxy or a client certificate. */
  readonly fetch?: typeof fetch;
}

/** A request, ready to be sent as often as it takes. */
interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
  readonly headers: Record<string, string>;
}

const FIRST_PAUSE = 0.1;
const LONGEST_PAUSE = 5;
/** The server is busy, or a proxy lost it. */
const AGAIN = new Set([429, 502, 503, 504]);
const LOCAL = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Sends requests to one server, again where that is safe: every change carries a key that makes repetitions one. */
export class Connection {
  readonly #base: string;
  readonly #options: Options;

  constructor(url: string, options: Options) {
    const at = new URL(url);
    if (!["http:", "https:"].includes(at.protocol) || at.username || at.password || at.search || at.hash) {
      throw new TypeError("url: give the address of a server, as https://HOST or http://localhost:8000");
    }
    if (at.protocol === "http:" && !LOCAL.has(at.hostname)) {
      throw new TypeError(`url: a key is not sent to ${at.hostname} over http://, where others can read it; use https://`);
    }
    this.#base = at.href.replace(/\/+$/u, "");
    this.#options = options;
  }

  /** The answer to a POST or PUT. */
  async write<T>(method: "POST" | "PUT", path: string, given: unknown): Promise<T> {
    return (await (await this.#sent(writing(method, path, given))).json()) as T;
  }

  /** The answer to a GET. */
  async read<T>(path: string, query: Readonly<Record<string, unknown>> = {}): Promise<T> {
    return (await (await this.#sent(reading(path, query))).json()) as T;
  }

  /**
   * The events of a stream, which is opened again when it is lost: what it said then is said again. It is a POST if
   * something is given. Leave the loop, or abort the signal, to end it.
   */
  async *events(path: string, query: Readonly<Record<string, unknown>>, given?: unknown, signal?: AbortSignal): AsyncGenerator<ServerEvent> {
    const call = given === undefined ? reading(path, query) : writing("POST", path, given);
    call.headers["accept"] = "text/event-stream";
    let attempts = this.#attempts();
    while (!signal?.aborted) {
      try {
        const answer = await this.#sent(call, attempts, signal);
        for await (const event of eventsOf(answer.body as ReadableStream<Uint8Array>)) {
          if (event.event === "problem") {
            throw new ProblemError(JSON.parse(event.data) as Problem);
          }
          attempts = this.#attempts();
          yield event;
        }
        await attempts.pause(new Error(`${this.#base} does not answer: the stream ended`), 0, signal);
      } catch (error) {
        if (signal?.aborted) {
          return;
        }
        if (error instanceof ProblemError && !AGAIN.has(error.status)) {
          throw error;
        }
        await attempts.pause(error, 0, signal);
      }
    }
  }

  async #sent(call: Call, attempts = this.#attempts(), signal?: AbortSignal): Promise<Response> {
    const send = this.#options.fetch ?? fetch;
    for (;;) {
      let failure: unknown;
      let asked = 0;
      try {
        const headers = { ...call.headers, authorization: `Bearer ${this.#options.key}` };
        const answer = await send(this.#base + call.path, {
          method: call.method,
          headers,
          body: call.body ?? null,
          redirect: "manual",
          signal: signal ?? null,
        });
        if (answer.ok) {
          return answer;
        }
        failure = await problemOf(answer);
        asked = Number(answer.headers.get("retry-after")) || 0;
      } catch (error) {
        failure = error;
      }
      if (signal?.aborted || (failure instanceof ProblemError && !AGAIN.has(failure.status))) {
        throw failure;
      }
      await attempts.pause(failure, asked, signal);
    }
  }

  #attempts(): Attempts {
    return new Attempts(this.#options.patience ?? 60);
  }
}
