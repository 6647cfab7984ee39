import type { components } from "./openapi.js";

/** What an `application/problem+json` answer holds. */
export type Problem = components["schemas"]["ProblemAnswer"];

/** An error that the server names. `name` is the class of the error in the Python library, `message` its text. */
export class ProblemError extends Error {
  /** The status of the answer; 0 if there was none. */
  readonly status: number;
  /** The field of the request that has to change, where that is known. */
  readonly field: string | undefined;
  /** The checks that a view did not pass. */
  readonly reasons: readonly string[];

  constructor(problem: Problem, options?: ErrorOptions) {
    super(problem.detail || problem.title, options);
    this.name = problem.type.slice(problem.type.lastIndexOf("/") + 1) || "ProblemError";
    this.status = problem.status;
    this.field = problem.field ?? undefined;
    this.reasons = problem.reasons ?? [];
  }
}

/** The error that a failed answer stands for. One that no readmit server wrote, as a proxy's, is a `StoreError`. */
export async function problemOf(answer: Response): Promise<ProblemError> {
  const text = await answer.text();
  if (answer.headers.get("content-type")?.startsWith("application/problem+json")) {
    return new ProblemError(JSON.parse(text) as Problem);
  }
  return storeError(
    `the server answered ${answer.status} without saying why: is a readmit server at this address?`,
    answer.status,
  );
}

/** An error of the connection. */
export function storeError(title: string, status = 0, cause?: unknown): ProblemError {
  return new ProblemError({ type: "/problems/StoreError", title, status }, { cause });
}
