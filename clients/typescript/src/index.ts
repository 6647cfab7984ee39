export type { Options } from "./connection.js";
export type { components, operations } from "./openapi.js";
export { ProblemError, type Problem } from "./problem.js";
export { connect, Agent, Returned, Workspace } from "./workspace.js";
export type { AgentVerb, Answer, Entry, Fallen, Given, Listing, Verb } from "./workspace.js";
