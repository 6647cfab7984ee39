/** What an `application/problem+json` answer holds. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  readonly field?: string | null;
  readonly reasons?: readonly string[];
}

/** An error that the server names. `name` is the class of the error in the Python library, `message` its text. */
export class ProblemError extends Error {
  readonly status: number;
  /** The field of the request that has to change, where that is known. */
  readonly field: string | undefined;
  /** The checks that a view did not pass. */
  readonly reasons: readonly string[];

  constructor(problem: Problem) {
    super(problem.detail || problem.title);
    this.name = problem.type.slice(problem.type.lastIndexOf("/") + 1) || "ProblemError";
    this.status = problem.status;
    this.field = problem.field ?? undefined;
    this.reasons = problem.reasons ?? [];
  }
}

/** The error that a failed answer stands for. */
export async function problemOf(answer: Response): Promise<ProblemError> {
  const text = await answer.text();
  if (answer.headers.get("content-type")?.startsWith("application/problem+json")) {
    return new ProblemError(JSON.parse(text) as Problem);
  }
  const title = `the server answered ${answer.status} without saying why: is a readmit server at this address?`;
  return new ProblemError({ type: "/problems/StoreError", title, status: answer.status });
}
