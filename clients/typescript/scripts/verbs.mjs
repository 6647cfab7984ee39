// Writes src/verbs.ts: where each verb of the server is, from the document that openapi-typescript writes the types from.
import { readFile, writeFile } from "node:fs/promises";

const document = JSON.parse(await readFile(new URL("../../../docs/reference/openapi.json", import.meta.url), "utf8"));
const lines = [];
for (const [path, methods] of Object.entries(document.paths)) {
  for (const [method, verb] of Object.entries(methods)) {
    // What answers in another format is no verb of this client: metrics, an export of the audit.
    const formats = Object.keys(verb.responses[200].content ?? {});
    if (!formats.some((one) => ["application/json", "text/event-stream"].includes(one))) continue;
    const isKeyed = verb.parameters?.some((one) => one.name === "Idempotency-Key") ?? false;
    const body = verb.requestBody?.content["application/json"].schema.$ref?.split("/").at(-1);
    // An event with an id is known to a server that was started again.
    const isSafe = !isKeyed || "id" in document.components.schemas[body].properties;
    lines.push(`  ${verb.operationId}: { method: "${method.toUpperCase()}", path: "${path}", isKeyed: ${isKeyed}, isSafe: ${isSafe} },`);
  }
}
const text = `// Written by \`npm run types\` from docs/reference/openapi.json. Do not edit.\nexport const VERBS = {\n${lines.join("\n")}\n} as const;\n`;
await writeFile(new URL("../src/verbs.ts", import.meta.url), text);
