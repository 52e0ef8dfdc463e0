// Makes the whole round with the types that openapi-typescript generates and the client
// openapi-fetch: it begins a conversation, follows it, allows the call that it asks
// about, and prints how the turn ended.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Event = components["schemas"]["Event"];
declare const process: { argv: string[] };
const [baseUrl, token] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: "Bearer " + token } });

const made = await client.POST("/v1/conversations", { body: { preset: "shop", content: "tool 1" } });
if (!made.data) throw new Error(made.error.title);
const stream = await client.GET("/v1/conversations/{id}/events", {
  params: { path: { id: made.data.id }, query: { after: 0 } }, parseAs: "stream",
});
if (!stream.data) throw new Error("no stream");

let kind = "", rest = "", done = false;
const text = new TextDecoder();
for await (const chunk of stream.data as unknown as AsyncIterable<Uint8Array>) {
  const lines = (rest + text.decode(chunk, { stream: true })).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    if (line.startsWith("data: ") && !done) await take(kind, JSON.parse(line.slice(6)));
  }
  if (done) break;
}

async function take(kind: string, e: Event) {
  if (kind === "approval" && e.approval?.state === "pending") {
    const path = { id: e.approval.id };
    const asked = await client.GET("/v1/approvals/{id}", { params: { path } });
    if (!asked.data) throw new Error(asked.error.title);
    const decide = (decision: components["schemas"]["DecisionKind"]) =>
      client.POST("/v1/approvals/{id}/decision", { params: { path }, body: { decision, digest: asked.data.digest } });
    const decided = await decide("allow"), again = await decide("deny");
    console.log(decided.data?.state, again.error?.type);
  }
  if (kind === "turn") {
    console.log(e.turn?.state);
    done = true;
  }
}
