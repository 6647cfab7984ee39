import { Connection, type Call, type Options } from "./connection.js";
import type { components, operations } from "./openapi.js";
import { VERBS } from "./verbs.js";

/** A verb of the server. `docs/reference/openapi.json` describes each. */
export type Verb = keyof typeof VERBS & keyof operations;

type Without<T, K extends PropertyKey> = { readonly [P in keyof T as P extends K ? never : P]: T[P] };
type Json<T> = T extends { readonly "application/json": infer Body } ? Body : unknown;
type BodyOf<O> = O extends { readonly requestBody: { readonly content: infer Content } } ? Json<Content> : unknown;
type QueryOf<O> = O extends { readonly parameters: { readonly query?: infer Query } }
  ? [Query] extends [undefined] ? unknown : NonNullable<Query>
  : unknown;
type PathOf<O> = O extends { readonly parameters: { readonly path: infer Path } } ? Without<Path, "workspace"> : unknown;

/** What a verb is given: the fields of its body or query, and the names in its path. */
export type Given<V extends Verb> = BodyOf<operations[V]> & QueryOf<operations[V]> & PathOf<operations[V]>;
/** What a verb answers. */
export type Answer<V extends Verb> = operations[V] extends {
  readonly responses: { readonly 200: { readonly content: infer Content } };
} ? Json<Content> : never;
/** A verb that answers page by page. */
export type Listing = { [V in Verb]: Answer<V> extends { readonly entries: readonly unknown[] } ? V : never }[Verb];
/** An entry of a listing. */
export type Entry<V extends Listing> = Answer<V> extends { readonly entries: readonly (infer E)[] } ? E : never;
/** A verb that an agent calls in a role, on a task. */
export type AgentVerb = {
  [V in Verb]: Given<V> extends { readonly role: string; readonly task: string } ? V : never;
}[Verb];

/** An item of the view that an agent holds, which no longer stands. */
export type Fallen = components["schemas"]["FallenAnswer"];

/** A workspace on a server. It is not asked before the first call. */
export function connect(url: string, options: Options): Workspace {
  return new Workspace(new Connection(url, options), options.workspace ?? "default");
}

/** One team's shared state. The key says who writes. */
export class Workspace {
  readonly #connection: Connection;
  readonly name: string;

  constructor(connection: Connection, name: string) {
    this.#connection = connection;
    this.name = name;
  }

  /** Call a verb. Rejects with a `ProblemError` if the server refuses it. */
  async call<V extends Verb>(verb: V, given: Given<V>): Promise<Answer<V>> {
    return (await this.#connection.send(this.#prepared(verb, given))) as Answer<V>;
  }

  /** The entries of a listing, page after page. */
  async *entries<V extends Listing>(verb: V, given: Given<V>): AsyncGenerator<Entry<V>> {
    let after: string | null | undefined;
    do {
      const asked = after === undefined ? given : { ...(given as object), after };
      const page = (await this.#connection.send(this.#prepared(verb, asked))) as {
        readonly entries: readonly Entry<V>[];
        readonly next?: string | null;
      };
      yield* page.entries;
      after = page.next;
    } while (after !== null && after !== undefined);
  }

  /** The key's principal in one role on one task. */
  agent(role: string, task: string): Agent {
    const open = (verb: Verb, given: unknown, signal?: AbortSignal) =>
      this.#connection.events(this.#prepared(verb, given), signal);
    return new Agent(this, { role, task }, open);
  }

  #prepared(verb: Verb, given: unknown): Call {
    const { method, path, isKeyed, isSafe } = VERBS[verb];
    const rest: Record<string, unknown> = { ...(given as object) };
    const place = path.replace(/\{(\w+)\}/gu, (_, name: string) => {
      const value = name === "workspace" ? this.name : rest[name];
      delete rest[name];
      return encodeURIComponent(String(value));
    });
    if (method === "GET") {
      const asked = Object.entries(rest).filter(([, value]) => value !== undefined && value !== null);
      const query = new URLSearchParams(asked.map(([name, value]) => [name, String(value)] as [string, string])).toString();
      return { method, path: query ? `${place}?${query}` : place, headers: {}, isSafe };
    }
    const key: Record<string, string> = isKeyed ? { "idempotency-key": crypto.randomUUID() } : {};
    return { method, path: place, body: JSON.stringify(rest), headers: { "content-type": "application/json", ...key }, isSafe };
  }
}

type Open = (verb: Verb, given: unknown, signal?: AbortSignal) => AsyncGenerator<{ event: string; data: string }>;

/** One principal in one role on one task. */
export class Agent {
  readonly #workspace: Workspace;
  readonly #who: { readonly role: string; readonly task: string };
  readonly #open: Open;

  constructor(workspace: Workspace, who: { readonly role: string; readonly task: string }, open: Open) {
    this.#workspace = workspace;
    this.#who = who;
    this.#open = open;
  }

  /** Call a verb of an agent: its role and its task are given. */
  async call<V extends AgentVerb>(verb: V, given: Without<Given<V>, "role" | "task">): Promise<Answer<V>> {
    return this.#workspace.call(verb, { ...given, ...this.#who } as unknown as Given<V>);
  }

  /** Decide what this agent may still act on. `progress` is called with the name of each stage that begins. */
  async comeBack(
    given: Without<Given<"come_back">, "role" | "task"> = {},
    progress: (stage: string) => void = () => undefined,
  ): Promise<Returned> {
    for await (const { event, data } of this.#open("come_back", { ...given, ...this.#who })) {
      if (event === "stage") {
        progress((JSON.parse(data) as { stage: string }).stage);
      } else if (event === "returned") {
        return new Returned(this, JSON.parse(data) as Answer<"come_back">);
      }
    }
    throw new Error("a stream without a signal ends with an outcome or an error");
  }

  /** Learn at once when an item of the agent's view no longer stands. Leave the loop, or abort the signal, to end it. */
  async *subscribe(signal?: AbortSignal): AsyncGenerator<Fallen> {
    for await (const { event, data } of this.#open("subscribe", this.#who, signal)) {
      if (event === "fallen") {
        yield JSON.parse(data) as Fallen;
      }
    }
  }
}

/** The outcome of a return, as far as its agent may know it. */
export class Returned {
  readonly #agent: Agent;
  readonly id: string;
  readonly kind: "admitted" | "blocked" | "reset";
  readonly admitted: boolean;
  /** Dependencies that the role still lacks. */
  readonly missing: readonly string[];
  /** The ids of the items that the view holds. */
  readonly items: readonly string[];
  /** Whether the view leaves out duties that are owed. */
  readonly partial: boolean;
  /** Proves that the view was issued to this workload. Keep it secret. */
  readonly secret: string;

  constructor(agent: Agent, answer: Answer<"come_back">) {
    this.#agent = agent;
    this.id = answer.id;
    this.kind = answer.kind;
    this.admitted = answer.admitted;
    this.missing = answer.missing ?? [];
    this.items = answer.items ?? [];
    this.partial = answer.partial ?? false;
    this.secret = answer.secret ?? "";
  }

  /** Recheck the view at this moment and hand it over. */
  async expose(): Promise<Answer<"expose">> {
    return this.#agent.call("expose", { id: this.id, secret: this.secret });
  }

  /** Recheck the retractions of a return that was blocked for missing needs, and hand them over. */
  async exposeRetractions(): Promise<Answer<"expose_retractions">> {
    return this.#agent.call("expose_retractions", { id: this.id, secret: this.secret });
  }

  /** Say that the bundle has arrived. From here on it is not handed over again. */
  async acknowledge(): Promise<void> {
    await this.#agent.call("acknowledge", { id: this.id, secret: this.secret });
  }
}
