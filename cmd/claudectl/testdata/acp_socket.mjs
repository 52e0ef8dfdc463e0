// An editor on the protocol's own library, with the library's own WebSocket: it
// prompts, is asked, is cut off while it is asked, comes back, and cancels a turn. It
// prints what it saw as JSON.
//
//	node --experimental-websocket acp_socket.mjs LIBRARY URL DIR
//
// The token is in CLAUDECTL_TOKEN.
import { pathToFileURL } from "node:url";

const [library, url, dir] = process.argv.slice(2);
const acp = await import(pathToFileURL(`${library}/dist/v1/stable/acp.js`));
const { createWebSocketStream } = await import(pathToFileURL(`${library}/dist/transports/ws-stream.js`));
const { session: ours } = acp.methods.client, { session: theirs } = acp.methods.agent;

// Node's own WebSocket takes headers with the protocols, and the library hands them
// over behind.
class Socket extends WebSocket {
	constructor(url, protocols, options) { super(url, { protocols: protocols ?? [], headers: options?.headers }); }
}

// connect returns an editor that has introduced itself.
async function connect() {
	const e = { text: "", prompts: "", calls: [], questions: [], waiting: [] };
	const arrived = () => { for (const go of e.waiting.splice(0)) go(); };
	e.until = async (find) => {
		for (;;) {
			const found = find();
			if (found) return found;
			await new Promise((go) => e.waiting.push(go));
		}
	};
	e.asked = () => e.until(() => e.questions.shift());
	const editor = acp.client({ name: "socket" });
	editor.onRequest(ours.requestPermission, ({ params, signal }) => new Promise((answer) => {
		signal.addEventListener("abort", () => answer({ outcome: { outcome: "cancelled" } }));
		const choose = (optionId) => answer({ outcome: { outcome: "selected", optionId } });
		e.questions.push({ title: params.toolCall.title, choose });
		arrived();
	}));
	editor.onNotification(ours.update, ({ params: { update } }) => {
		if (update.sessionUpdate === "agent_message_chunk") e.text += update.content.text;
		if (update.sessionUpdate === "user_message_chunk") e.prompts += update.content.text;
		if (update.sessionUpdate === "tool_call") e.calls.push(update.title);
		arrived();
	});
	const headers = { Authorization: `Bearer ${process.env.CLAUDECTL_TOKEN}` };
	e.connection = editor.connect(createWebSocketStream(url, { headers, WebSocket: Socket }));
	e.agent = e.connection.agent;
	e.hello = await e.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: "socket", version: "1" } });
	e.prompt = (sessionId, text) => e.agent.request(theirs.prompt, { sessionId, prompt: [{ type: "text", text }] });
	return e;
}

const saw = {};
let e = await connect();
saw.loads = e.hello.agentCapabilities.loadSession;
const { sessionId } = await e.agent.request(theirs.new, { cwd: dir, mcpServers: [] });
let turn = e.prompt(sessionId, "Do one.");
let question = await e.asked();
saw.first = { asked: question.title };
question.choose("allow-once");
Object.assign(saw.first, { ended: (await turn).stopReason, text: e.text, calls: [...e.calls] });

turn = e.prompt(sessionId, "Do two.").catch(() => "cut");
await e.asked();
e.connection.close();
saw.cut = await turn;

e = await connect();
await e.agent.request(theirs.load, { sessionId, cwd: dir, mcpServers: [] });
saw.loaded = { text: e.text, prompts: e.prompts, calls: [...e.calls] };
question = await e.asked();
saw.again = { asked: question.title };
question.choose("allow-once");
await e.until(() => e.text.endsWith("Two is done."));

saw.listed = (await e.agent.request(theirs.list, {})).sessions.map((s) => s.sessionId === sessionId);
turn = e.prompt(sessionId, "Talk.");
await e.until(() => e.text.includes("word"));
await e.agent.notify(theirs.cancel, { sessionId });
saw.cancelled = (await turn).stopReason;
try {
	await e.agent.request(theirs.load, { sessionId: "nonsense", cwd: dir, mcpServers: [] });
} catch (error) {
	saw.unknown = error.code;
}
await e.agent.request(theirs.close, { sessionId });
e.connection.close();
await e.connection.closed;
process.stdout.write(JSON.stringify(saw));
