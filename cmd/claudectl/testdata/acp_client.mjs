// An editor built on the protocol's own library: it follows the actions of a
// scene and prints, as JSON lines, what the agent sends. It fails if the library
// does not hand each update and each question to it.
//
//	node acp_client.mjs LIBRARY ACTIONS DIR COMMAND ARGS...
//	node --experimental-websocket acp_client.mjs LIBRARY ACTIONS DIR URL
//
// With a URL it is an editor on a server: it talks over the library's own WebSocket, with
// the token in CLAUDECTL_TOKEN, and cuts the connection where the scene kills the agent.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [library, actionsFile, dir, command, ...args] = process.argv.slice(2);
const acp = await import(pathToFileURL(library));
const remote = command.startsWith("ws");
const { createWebSocketStream } = await import(new URL("../../transports/ws-stream.js", pathToFileURL(library)));
const actions = JSON.parse(readFileSync(actionsFile, "utf8"));
const show = (frame) => process.stdout.write(JSON.stringify(frame) + "\n");

let session = "", agent, connection, child, questions = [], updates = [], waiting = [];
let asked = []; // ids of the scene's requests that are not sent yet
let sent = 0, taken = 0; // updates and questions: of the agent, and handed over
const arrived = () => { const all = waiting; waiting = []; for (const go of all) go(); };
async function until(find) {
	for (;;) {
		const found = find();
		if (found !== undefined) return found;
		await new Promise((go) => waiting.push(go));
	}
}

// open returns a new connection to the agent.
function open() {
	if (!remote) {
		child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
		return acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
	}
	// Node's own WebSocket takes headers with the protocols, and the library hands them over
	// behind.
	class Socket extends WebSocket {
		constructor(url, protocols, options) { super(url, { protocols: protocols ?? [], headers: options?.headers }); }
	}
	return createWebSocketStream(command, { headers: { Authorization: `Bearer ${process.env.CLAUDECTL_TOKEN}` }, WebSocket: Socket });
}

function start() {
	const editor = acp.client({ name: "scene" });
	for (const method of [acp.methods.client.session.requestPermission, acp.methods.client.elicitation.create]) {
		editor.onRequest(method, ({ params, signal }) => {
			taken++;
			return new Promise((answer) => {
				questions.push({ method, answer });
				signal.addEventListener("abort", () => answer({ outcome: { outcome: "cancelled" } }));
				arrived();
			});
		});
	}
	editor.onNotification(acp.methods.client.session.update, ({ params }) => {
		taken++;
		updates.push(params.update.sessionUpdate);
		arrived();
	});
	const stream = open();
	const ids = new Map(); // of the scene's requests, by the library's own
	const numbered = new TransformStream({ transform(frame, out) {
		if (frame.method && frame.id !== undefined) ids.set(frame.id, asked.shift());
		out.enqueue(frame);
	} });
	numbered.readable.pipeTo(stream.writable).catch(() => {}); // the agent may have been killed
	const seen = new TransformStream({ transform(frame, out) {
		show(frame.method ? frame : { ...frame, id: ids.get(frame.id) });
		if (frame.method && frame.method !== "$/cancel_request") sent++;
		out.enqueue(frame);
	} });
	connection = editor.connect({ writable: numbered.writable, readable: stream.readable.pipeThrough(seen) });
	agent = connection.agent;
}

async function end(signal) {
	if (remote) {
		connection.close();
		await connection.closed;
		return;
	}
	const exited = once(child, "exit");
	if (signal) child.kill(signal);
	else child.stdin.end();
	const [code] = await exited;
	if (!signal && code !== 0) throw new Error(`the agent ended with ${code}`);
}

const responses = new Map();
const filled = (params) => JSON.parse(JSON.stringify(params ?? {}).replaceAll("$session", session).replaceAll("$dir", dir));
start();
for (const a of actions) {
	switch (a.do) {
	case "request":
		updates = [];
		asked.push(a.id);
		responses.set(a.id, agent.request(a.method, filled(a.params)).catch(() => undefined));
		break;
	case "notify":
		await agent.notify(a.method, filled(a.params));
		break;
	case "await": {
		const result = await responses.get(a.id);
		session ||= result?.sessionId ?? "";
		break;
	}
	case "question": {
		const q = await until(() => { const i = questions.findIndex((q) => q.method === a.method); return i < 0 ? undefined : questions.splice(i, 1)[0]; });
		if (a.answer !== undefined) q.answer(a.answer);
		break;
	}
	case "update":
		await until(() => updates.includes(a.method) || undefined);
		break;
	case "restart":
		await end();
		start();
		break;
	case "kill":
		await end("SIGKILL");
		start();
		break;
	}
}
await end();
if (sent !== taken) throw new Error(`the library handed over ${taken} of ${sent} updates and questions`);
