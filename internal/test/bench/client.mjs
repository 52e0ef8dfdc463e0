// The official TypeScript SDK as a client of the fake CLI.
//
//   node client.mjs <folder with node_modules> <fake CLI>
//
// Reads one command a line: {"op":"round","prompt":"delta 1000"} asks an open
// session for a round, {"op":"start"} starts another session and waits for its
// first message. Answers each with {"ns","cpu","messages","report","error"}; cpu is
// the processor time of this process, in microseconds.
import path from 'node:path'
import readline from 'node:readline'
import { pathToFileURL } from 'node:url'

const [modules, cli] = process.argv.slice(2)
const load = name => import(pathToFileURL(path.join(modules, 'node_modules', name)))
const { query, tool, createSdkMcpServer } = await load('@anthropic-ai/claude-agent-sdk/sdk.mjs')
const { z } = await load('zod/index.js')

// talk is streaming input that is fed as rounds are asked for.
function talk() {
  const waiting = []
  let wake, ended = false
  return {
    send(text) { waiting.push({ type: 'user', message: { role: 'user', content: text }, parent_tool_use_id: null, session_id: '' }); wake?.() },
    end() { ended = true; wake?.() },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        while (waiting.length) yield waiting.shift()
        if (ended) return
        await new Promise(r => { wake = r })
      }
    },
  }
}

function open(input) {
  return query({
    prompt: input,
    options: {
      pathToClaudeCodeExecutable: cli,
      settingSources: [],
      includePartialMessages: true,
      canUseTool: async (name, input) => ({ behavior: 'allow', updatedInput: input }),
      hooks: { PreToolUse: [{ hooks: [async () => ({})] }] },
      mcpServers: { calc: createSdkMcpServer({
        name: 'calc',
        tools: [tool('add', 'Add two numbers', { a: z.number(), b: z.number() }, async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }))],
      }) },
    },
  })
}

// touch looks at what a program looks at, so that nothing is left undone.
function touch(m) {
  switch (m.type) {
    case 'stream_event': return m.event.delta?.text.length
    case 'assistant': return m.message.content[0].text.length
    case 'user': return m.message.content[0].content.length
  }
}

let session, input, messages

async function round(prompt) {
  if (!session) {
    input = talk()
    session = open(input)
    messages = session[Symbol.asyncIterator]()
  }
  const begin = process.hrtime.bigint(), used = process.cpuUsage()
  input.send(prompt)
  for (let n = 0; ; n++) {
    const { value: m, done } = await messages.next()
    if (done) throw new Error('the session has ended')
    touch(m)
    if (m.type === 'result') {
      const ns = Number(process.hrtime.bigint() - begin), { user, system } = process.cpuUsage(used)
      return { ns, cpu: user + system, messages: n - 1, report: m.result }
    }
  }
}

async function start() {
  const begin = process.hrtime.bigint()
  const feed = talk()
  feed.send('delta 1')
  const q = open(feed)
  const it = q[Symbol.asyncIterator]()
  await it.next()
  const ns = Number(process.hrtime.bigint() - begin)
  feed.end()
  for (;;) if ((await it.next()).done) break
  return { ns }
}

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]()
for (;;) {
  const { value: line, done } = await lines.next()
  if (done) break
  const { op, prompt } = JSON.parse(line)
  let answer
  try {
    answer = op === 'start' ? await start() : await round(prompt)
  } catch (e) {
    answer = { error: String(e) }
  }
  process.stdout.write(JSON.stringify(answer) + '\n')
}
input?.end()
if (messages) for (;;) if ((await messages.next()).done) break
