import { eventsOf, type ServerEvent } from "./events.js";
import { ProblemError, problemOf, storeError, type Problem } from "./problem.js";

/** How a connection is made. */
export interface Options {
  /** An API key or a token: it says who writes. */
  readonly key: string;
  /** The workspace; `default` if it is left out. */
  readonly workspace?: string;
  /** Seconds for which a call is tried while the server is away or busy; 60 if it is left out. */
  readonly patience?: number;
  /** Another `fetch`, for a proxy or a client certificate. */
  readonly fetch?: typeof fetch;
}

/** A request, ready to be sent as often as it takes. */
export interface Call {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly body?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether it may be sent again when its answer was lost: it is known there by its id, or changes nothing. */
  readonly isSafe: boolean;
}

const FIRST_PAUSE = 0.1;
const LONGEST_PAUSE = 5;
const BUSY = 503;
const LIMITED = 429;
/** A proxy's word that it does not know what became of the request. */
const LOST = [502, 504];
const LOCAL = ["localhost", "127.0.0.1", "[::1]"];

/** Sends calls to one server, again where that is safe. */
export class Connection {
  readonly #url: string;
  readonly #options: Options;

  constructor(url: string, options: Options) {
    const at = new URL(url);
    if (!["http:", "https:"].includes(at.protocol) || at.username || at.password || at.search || at.hash) {
      throw new TypeError("url: give the address of a server, as https://HOST or http://localhost:8000");
    }
    if (at.protocol === "http:" && !LOCAL.includes(at.hostname)) {
      throw new TypeError(
        `url: a key is not sent to ${at.hostname} over http://, where others can read it; use https://`,
      );
    }
    this.#url = at.href.replace(/\/+$/u, "");
    this.#options = options;
  }

  /** The answer to a call. */
  async send(call: Call): Promise<unknown> {
    const answer = await this.#sent(call, "application/json", this.#attempts());
    try {
      return await answer.json();
    } catch (error) {
      throw storeError("the server's answer is no JSON: is a readmit server at this address?", answer.status, error);
    }
  }

  /**
   * The events of a stream, which is opened again when it is lost: what it said then is said again. Leave the loop,
   * or abort the signal, to end it.
   */
  async *events(call: Call, signal?: AbortSignal): AsyncGenerator<ServerEvent> {
    let attempts = this.#attempts();
    while (!signal?.aborted) {
      let isOpen = false;
      try {
        const answer = await this.#sent(call, "text/event-stream", attempts, signal);
        if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) {
          throw storeError("the server's answer is no stream: is a readmit server at this address?", answer.status);
        }
        isOpen = call.method === "GET"; // it stands as long as its reader wants; a return ends
        for await (const event of eventsOf(answer.body as ReadableStream<Uint8Array>)) {
          if (event.event === "problem") {
            throw new ProblemError(JSON.parse(event.data) as Problem);
          }
          attempts = this.#attempts();
          yield event;
        }
        throw storeError(`${this.#url} does not answer: the stream ended`);
      } catch (error) {
        if (signal?.aborted) {
          return;
        }
        if (error instanceof ProblemError && error.status !== BUSY && error.status !== 0) {
          throw error;
        }
        if (isOpen) {
          attempts.answered();
        }
        await attempts.after(error, 0, signal);
      }
    }
  }

  async #sent(call: Call, accept: string, attempts: Attempts, signal?: AbortSignal): Promise<Response> {
    const send = this.#options.fetch ?? fetch;
    const headers = { ...call.headers, accept, authorization: `Bearer ${this.#options.key}` };
    const request: RequestInit = { method: call.method, headers, body: call.body ?? null, redirect: "manual" };
    for (;;) {
      let failure: ProblemError;
      let asked = 0;
      try {
        const answer = await send(this.#url + call.path, { ...request, signal: signal ?? null });
        if (answer.ok) {
          return answer;
        }
        failure = await problemOf(answer);
        const again = answer.headers.get("retry-after");
        asked = secondsOf(again);
        // Without a time to come again, it is a limit of the policy: an overseer has to act.
        const isLimit = answer.status === LIMITED && again !== null;
        if (!isLimit && answer.status !== BUSY && !(call.isSafe && LOST.includes(answer.status))) {
          throw failure;
        }
      } catch (error) {
        if (error instanceof ProblemError || signal?.aborted) {
          throw error;
        }
        failure = storeError(`${this.#url} does not answer: ${wordsOf(error)}`, 0, error);
        if (!call.isSafe && !isUnsent(error)) {
          throw storeError(`${failure.message}; it may have done this: look before you repeat it`, 0, error);
        }
      }
      await attempts.after(failure, asked, signal);
    }
  }

  #attempts(): Attempts {
    return new Attempts(this.#options.patience ?? 60);
  }
}

/** The attempts of one call. */
class Attempts {
  readonly #patience: number;
  #end = 0;
  #pause = FIRST_PAUSE;

  constructor(patience: number) {
    this.#patience = patience * 1_000;
    this.answered();
  }

  /** Count the seconds from now on: the server was there until now. */
  answered(): void {
    this.#end = performance.now() + this.#patience;
  }

  /** Wait before the next attempt; if there is no time for one, throw the failure. */
  async after(failure: unknown, asked: number, signal?: AbortSignal): Promise<void> {
    // Not all at the same moment: many clients of a server that restarts would come back together.
    const pause = Math.max(asked, this.#pause * (0.5 + Math.random() / 2)) * 1_000;
    if (performance.now() + pause > this.#end) {
      throw failure;
    }
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pause);
      signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    });
  }
}

/** Seconds that a `Retry-After` asks for: a number of them, or a date. */
function secondsOf(header: string | null): number {
  if (header === null) {
    return 0;
  }
  const seconds = Number.isNaN(Number(header)) ? (Date.parse(header) - Date.now()) / 1_000 : Number(header);
  return Math.max(0, seconds) || 0;
}

function causeOf(error: unknown): { code?: unknown; message?: unknown } {
  return ((error as { cause?: unknown } | null)?.cause ?? error ?? {}) as { code?: unknown; message?: unknown };
}

function wordsOf(error: unknown): string {
  const { code, message } = causeOf(error);
  return String(message || code || error);
}

/** Whether a request failed before it reached a server. */
function isUnsent(error: unknown): boolean {
  return ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"].includes(String(causeOf(error).code));
}
