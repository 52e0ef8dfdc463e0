// An MCP server on standard input and output, with one tool that adds.
import { createInterface } from "node:readline";

const results = {
	initialize: (p) => ({ protocolVersion: p.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "calc", version: "1" } }),
	"tools/list": () => ({ tools: [{ name: "add", description: "Adds two numbers.", inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] } }] }),
	"tools/call": (p) => ({ content: [{ type: "text", text: String(p.arguments.a + p.arguments.b) }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
	const { id, method, params } = JSON.parse(line);
	if (id === undefined) continue;
	const result = results[method];
	const answer = result ? { result: result(params) } : { error: { code: -32601, message: "unknown method" } };
	process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\n");
}
