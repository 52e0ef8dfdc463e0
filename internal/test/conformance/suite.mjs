// Sessions of the official TypeScript SDK with the scripted CLI.
//
//   node suite.mjs <folder with node_modules> <scripted CLI> [name of a scenario]
//
// Prints one JSON object per scenario: {"name","ok","ms","error"}.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const [modules, cli, only] = process.argv.slice(2)
const load = name => import(pathToFileURL(path.join(modules, 'node_modules', name)))
const { query, tool, createSdkMcpServer } = await load('@anthropic-ai/claude-agent-sdk/sdk.mjs')
const { z } = await load('zod/index.js')

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'conformance-'))
let scripts = 0

// start begins a session with a script, as an object or a list of replies.
function start(script, options = {}, prompt = 'go') {
  const file = path.join(scratch, `script-${scripts++}.json`)
  fs.writeFileSync(file, JSON.stringify(script))
  const { env, ...rest } = options
  return query({
    prompt,
    options: {
      pathToClaudeCodeExecutable: cli,
      cwd: scratch,
      settingSources: [],
      env: { PATH: process.env.PATH, HOME: scratch, CLAUDETEST_SCRIPT: file, ...env },
      ...rest,
    },
  })
}

// all reads a session to its end, without the reports of its state. When the
// last turn failed the SDK throws after its result.
async function all(session) {
  const messages = []
  try {
    for await (const m of session) if (m.subtype !== 'session_state_changed') messages.push(m)
  } catch (e) {
    if (!result(messages)?.is_error) throw e
  }
  return messages
}

const result = messages => messages.findLast(m => m.type === 'result')
const toolResults = messages => messages.filter(m => m.type === 'user').flatMap(m => m.message.content).filter(b => b.type === 'tool_result')
const text = block => (typeof block.content === 'string' ? block.content : block.content.map(c => c.text).join(''))
const user = (content, uuid) => ({ type: 'user', message: { role: 'user', content }, parent_tool_use_id: null, session_id: '', uuid })
const use = (name, input, more) => ({ use: [{ name, input, ...more }] })
const aFile = path.join(scratch, 'a')
const write = use('Write', { file_path: aFile, content: 'x' })

// talk is streaming input that a scenario feeds as it goes.
function talk() {
  const waiting = []
  let wake, ended = false
  return {
    send(m) { waiting.push(m); wake?.() },
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

const scenarios = {
  async 'one-shot: a text'() {
    const m = await all(start(['Hello.']))
    assert.deepEqual(m.map(x => x.type), ['system', 'assistant', 'result'])
    assert.equal(m[0].subtype, 'init')
    assert.equal(result(m).result, 'Hello.')
    assert.equal(result(m).is_error, false)
    assert.ok(result(m).total_cost_usd > 0)
  },
  async 'one-shot: an allowed tool'() {
    const m = await all(start([use('Bash', { command: 'ls' }, { output: 'a b' }), 'Done.'], { allowedTools: ['Bash'] }))
    assert.equal(text(toolResults(m)[0]), 'a b')
    assert.equal(result(m).num_turns, 2)
  },
  async 'one-shot: thinking'() {
    const m = await all(start([{ think: 'Hm.', say: 'Yes.' }]))
    const blocks = m.filter(x => x.type === 'assistant').flatMap(x => x.message.content)
    assert.deepEqual(blocks.map(b => b.type), ['thinking', 'text'])
    assert.equal(new Set(m.filter(x => x.type === 'assistant').map(x => x.message.id)).size, 1)
  },
  async 'one-shot: two tools in one answer'() {
    const m = await all(start([{ use: [{ name: 'Read', input: {}, output: 'one' }, { name: 'Read', input: {}, output: 'two' }] }, 'Done.']))
    assert.deepEqual(toolResults(m).map(text).sort(), ['one', 'two'])
  },
  async 'streaming input: two turns'() {
    const input = talk()
    input.send(user('first'))
    const results = []
    for await (const m of start(['One.', 'Two.'], {}, input)) {
      if (m.type !== 'result') continue
      results.push(m.result)
      if (results.length === 1) input.send(user('second'))
      else input.end()
    }
    assert.deepEqual(results, ['One.', 'Two.'])
  },
  async 'streaming input: prompts that wait are merged'() {
    const input = talk()
    const ids = [1, 2, 3].map(n => `00000000-0000-4000-8000-00000000000${n}`)
    input.send(user('first', ids[0]))
    let results = []
    for await (const m of start([{ say: 'One two three four', chunk_size: 4, chunk_ms: 100 }, 'Both.'], { includePartialMessages: true }, input)) {
      if (m.type === 'stream_event' && m.event.type === 'content_block_start' && results.length === 0) {
        input.send(user('second', ids[1]))
        input.send(user('third', ids[2]))
      }
      if (m.type === 'result') results.push(m)
      if (results.length === 2) input.end()
    }
    assert.deepEqual(results[1].user_message_uuids, ids.slice(1))
  },
  async 'partial messages'() {
    const m = await all(start([{ say: 'Hello there.', chunk_size: 4 }], { includePartialMessages: true }))
    const events = m.filter(x => x.type === 'stream_event').map(x => x.event)
    assert.deepEqual([events[0].type, events.at(-1).type], ['message_start', 'message_stop'])
    assert.equal(events.filter(e => e.type === 'content_block_delta').map(e => e.delta.text).join(''), 'Hello there.')
  },
  async 'canUseTool: allow'() {
    const asked = []
    const m = await all(start([write, 'Done.'], { canUseTool: async (name, input, more) => {
      asked.push([name, more.toolUseID, more.suggestions?.[0]?.type])
      return { behavior: 'allow', updatedInput: input }
    } }))
    assert.deepEqual(asked, [['Write', 'toolu_000001', 'setMode']])
    assert.equal(text(toolResults(m)[0]), 'ok')
    assert.deepEqual(result(m).permission_denials, [])
  },
  async 'canUseTool: deny'() {
    const m = await all(start([write, 'Done.'], { canUseTool: async () => ({ behavior: 'deny', message: 'not today' }) }))
    assert.equal(text(toolResults(m)[0]), 'not today')
    assert.equal(toolResults(m)[0].is_error, true)
    assert.equal(result(m).permission_denials[0].tool_name, 'Write')
  },
  async 'canUseTool: updatedInput'() {
    const input = { questions: [{ question: 'Q?', header: 'H', options: [], multiSelect: false }] }
    const m = await all(start([use('AskUserQuestion', input), 'Done.'], {
      canUseTool: async (_, i) => ({ behavior: 'allow', updatedInput: { ...i, answers: { 'Q?': 'changed' } } }),
    }))
    assert.match(text(toolResults(m)[0]), /changed/)
  },
  async 'canUseTool: deny and interrupt'() {
    const m = await all(start([write, 'Done.'], { canUseTool: async () => ({ behavior: 'deny', message: 'stop', interrupt: true }) }))
    assert.equal(result(m).subtype, 'error_during_execution')
    assert.equal(result(m).terminal_reason, 'aborted_tools')
  },
  async 'canUseTool: a callback that throws denies'() {
    const m = await all(start([write, 'Done.'], { canUseTool: async () => { throw new Error('broken') } }))
    assert.match(text(toolResults(m)[0]), /broken/)
    assert.equal(result(m).permission_denials.length, 1)
  },
  async 'canUseTool: what is remembered is not asked again'() {
    let asked = 0
    const m = await all(start([write, write, 'Done.'], { canUseTool: async (_, input, { suggestions }) => {
      asked++
      return { behavior: 'allow', updatedInput: input, updatedPermissions: suggestions }
    } }))
    assert.equal(asked, 1)
    assert.ok(m.some(x => x.type === 'system' && x.subtype === 'status' && x.permissionMode === 'acceptEdits'))
  },
  async 'AskUserQuestion'() {
    const input = { questions: [{ question: 'Which?', header: 'H', options: [{ label: 'A', description: '' }, { label: 'B', description: '' }], multiSelect: false }] }
    const m = await all(start([use('AskUserQuestion', input), 'Done.'], {
      canUseTool: async (_, i) => ({ behavior: 'allow', updatedInput: { questions: i.questions, answers: { 'Which?': 'B' } } }),
    }))
    assert.match(text(toolResults(m)[0]), /"Which\?"="B"/)
  },
  async 'permissions: nobody to ask'() {
    const m = await all(start([write, 'Done.']))
    assert.equal(toolResults(m)[0].is_error, true)
    assert.equal(result(m).permission_denials.length, 1)
    assert.ok(m.some(x => x.subtype === 'permission_denied'))
  },
  async 'permissions: disallowedTools'() {
    let asked = 0
    const m = await all(start([write, 'Done.'], { disallowedTools: ['Write'], canUseTool: async () => { asked++; return { behavior: 'deny', message: '' } } }))
    assert.equal(asked, 0)
    assert.equal(toolResults(m)[0].is_error, true)
  },
  async 'permissions: bypass'() {
    const m = await all(start([write, 'Done.'], { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true }))
    assert.equal(text(toolResults(m)[0]), 'ok')
  },
  async 'hooks: PreToolUse denies what it matches'() {
    const seen = []
    const deny = async input => {
      seen.push(input.tool_name)
      return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: 'read-only' } }
    }
    const m = await all(start([use('Bash', { command: 'ls' }), write, 'Done.'], {
      allowedTools: ['Bash', 'Write'], hooks: { PreToolUse: [{ matcher: 'Write|Edit', hooks: [deny] }] },
    }))
    assert.deepEqual(seen, ['Write'])
    assert.deepEqual(toolResults(m).map(b => !!b.is_error), [false, true])
    assert.match(text(toolResults(m)[1]), /read-only/)
  },
  async 'hooks: PreToolUse allows and changes the input'() {
    const input = { questions: [{ question: 'Q?', header: 'H', options: [], multiSelect: false }], answers: { 'Q?': 'hooked' } }
    const m = await all(start([use('mcp__none__x', {}, { output: 'ran' }), 'Done.'], {
      hooks: { PreToolUse: [{ matcher: 'mcp__.*', hooks: [async () => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow', updatedInput: input } })] }] },
    }))
    assert.equal(text(toolResults(m)[0]), 'ran')
  },
  async 'hooks: PostToolUse sees the response'() {
    let seen
    await all(start([use('Read', {}, { output: 'content' }), 'Done.'], {
      hooks: { PostToolUse: [{ hooks: [async (input, id) => { seen = [input.tool_response, input.tool_use_id === id]; return {} }] }] },
    }))
    assert.deepEqual(seen, ['content', true])
  },
  async 'hooks: PostToolUse stops the run'() {
    const m = await all(start([use('Read', {}), 'Never.'], {
      hooks: { PostToolUse: [{ hooks: [async () => ({ continue: false, stopReason: 'enough' })] }] },
    }))
    assert.equal(result(m).terminal_reason, 'hook_stopped')
  },
  async 'hooks: UserPromptSubmit blocks'() {
    const m = await all(start(['Never.'], { hooks: { UserPromptSubmit: [{ hooks: [async input => ({ decision: 'block', reason: 'not ' + input.prompt })] }] } }))
    assert.equal(result(m).num_turns, 0)
    assert.match(result(m).result, /not go/)
    assert.ok(!m.some(x => x.type === 'assistant'))
  },
  async 'hooks: Stop makes it go on'() {
    const active = []
    const m = await all(start(['One.', 'Two.'], { hooks: { Stop: [{ hooks: [async input => {
      active.push(input.stop_hook_active)
      return input.stop_hook_active ? {} : { decision: 'block', reason: 'more' }
    }] }] } }))
    assert.deepEqual(active, [false, true])
    assert.equal(result(m).result, 'Two.')
  },
  async 'hooks: a timeout closes the gate'() {
    let aborted = false
    const hang = (_, __, { signal }) => new Promise(r => signal.addEventListener('abort', () => { aborted = true; r({}) }))
    const m = await all(start([write, 'Done.'], { allowedTools: ['Write'], hooks: { PreToolUse: [{ timeout: 1, hooks: [hang] }] } }))
    assert.equal(toolResults(m)[0].is_error, true)
    assert.equal(aborted, true)
  },
  async 'hooks: one that throws counts as empty'() {
    const m = await all(start([write, 'Done.'], { allowedTools: ['Write'], hooks: { PreToolUse: [{ hooks: [async () => { throw new Error('oh') }] }] } }))
    assert.equal(text(toolResults(m)[0]), 'ok')
  },
  async 'hooks: PermissionRequest decides'() {
    const m = await all(start([write, 'Done.'], {
      canUseTool: (_, __, { signal }) => new Promise(r => signal.addEventListener('abort', () => r({ behavior: 'deny', message: 'late' }))),
      hooks: { PermissionRequest: [{ hooks: [async () => ({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } } })] }] },
    }))
    assert.equal(text(toolResults(m)[0]), 'ok')
  },
  async 'MCP: a tool in the client'() {
    const add = tool('add', 'adds', { a: z.number(), b: z.number() }, async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }))
    const m = await all(start([use('mcp__calc__add', { a: 1, b: 41 }), 'Done.'], {
      allowedTools: ['mcp__calc__add'], mcpServers: { calc: createSdkMcpServer({ name: 'calc', tools: [add] }) },
    }))
    assert.equal(text(toolResults(m)[0]), '42')
    assert.deepEqual(m[0].mcp_servers.map(s => [s.name, s.status]), [['calc', 'connected']])
    assert.ok(m[0].tools.includes('mcp__calc__add'))
  },
  async 'MCP: a tool that fails'() {
    const bad = tool('bad', 'fails', {}, async () => ({ content: [{ type: 'text', text: 'no luck' }], isError: true }))
    const m = await all(start([use('mcp__calc__bad', {}), 'Done.'], {
      allowedTools: ['mcp__calc'], mcpServers: { calc: createSdkMcpServer({ name: 'calc', tools: [bad] }) },
    }))
    assert.equal(toolResults(m)[0].is_error, true)
    assert.match(text(toolResults(m)[0]), /no luck/)
  },
  async 'interrupt: while it speaks'() {
    const input = talk()
    input.send(user('count'))
    const session = start([{ say: 'one two three four', chunk_size: 4, hold: true }, 'Next.'], { includePartialMessages: true }, input)
    const results = []
    let interrupted
    for await (const m of session) {
      if (m.type === 'stream_event' && m.event.type === 'content_block_delta') interrupted ??= session.interrupt()
      if (m.type !== 'result') continue
      results.push(m)
      if (results.length === 1) input.send(user('again'))
      else input.end()
    }
    assert.deepEqual((await interrupted).still_queued, [])
    assert.deepEqual([results[0].terminal_reason, results[1].result], ['aborted_streaming', 'Next.'])
  },
  async 'interrupt: while permission is asked'() {
    const input = talk()
    input.send(user('write'))
    let withdrawn = false
    const session = start([write, 'Next.'], {
      canUseTool: (_, __, { signal }) => new Promise(r => {
        signal.addEventListener('abort', () => { withdrawn = true; r({ behavior: 'deny', message: '' }) })
        session.interrupt()
      }),
    }, input)
    const results = []
    for await (const m of session) {
      if (m.type !== 'result') continue
      results.push(m)
      if (results.length === 1) input.send(user('go on'))
      else input.end()
    }
    assert.deepEqual([results[0].terminal_reason, results[1].result], ['aborted_tools', 'Next.'])
    assert.equal(withdrawn, true)
  },
  async 'control: setModel'() {
    const input = talk()
    const session = start(['One.', 'Two.'], { model: 'first' }, input)
    const models = []
    input.send(user('a'))
    for await (const m of session) {
      if (m.type === 'system' && m.subtype === 'init') models.push(m.model)
      if (m.type !== 'result') continue
      if (models.length === 1) { await session.setModel('second'); input.send(user('b')) } else input.end()
    }
    assert.deepEqual(models, ['first', 'second'])
  },
  async 'control: setPermissionMode'() {
    const input = talk()
    const session = start([write, 'Done.'], {}, input)
    await session.setPermissionMode('acceptEdits')
    await assert.rejects(session.setPermissionMode('bypassPermissions'))
    input.send(user('a'))
    const messages = []
    for await (const m of session) { messages.push(m); if (m.type === 'result') input.end() }
    assert.equal(text(toolResults(messages)[0]), 'ok')
  },
  async 'control: rewindFiles'() {
    const input = talk()
    const id = '00000000-0000-4000-8000-000000000009'
    const session = start([write, 'Done.'], { permissionMode: 'acceptEdits', enableFileCheckpointing: true, extraArgs: { 'replay-user-messages': null } }, input)
    input.send(user('a', id))
    let dry, real
    for await (const m of session) {
      if (m.type !== 'result') continue
      dry = await session.rewindFiles(id, { dryRun: true })
      real = await session.rewindFiles(id)
      await assert.rejects(session.rewindFiles('00000000-0000-4000-8000-000000000000'))
      input.end()
    }
    assert.deepEqual(dry.filesChanged, [aFile])
    assert.equal(real.canRewind, true)
  },
  async 'control: what the session says of itself'() {
    const input = talk()
    const session = start(['Hello.'], {}, input)
    const init = await session.initializationResult()
    assert.ok(Array.isArray(init.commands) && Array.isArray(init.models))
    assert.equal((await session.supportedModels()).length, 1)
    assert.equal((await session.accountInfo()).tokenSource, 'none')
    assert.deepEqual(await session.mcpServerStatus(), [])
    assert.equal((await session.getContextUsage()).maxTokens, 200000)
    input.end()
    await all(session)
  },
  async 'structured output'() {
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    const m = await all(start([use('StructuredOutput', { n: 7 })], { outputFormat: { type: 'json_schema', schema } }))
    assert.deepEqual(result(m).structured_output, { n: 7 })
  },
  async 'limits: maxTurns'() {
    const m = await all(start([use('Read', {}), use('Read', {}), 'Never.'], { maxTurns: 2 }))
    assert.equal(result(m).subtype, 'error_max_turns')
  },
  async 'errors: of the API'() {
    const m = await all(start([{ fail: { status: 404, type: 'not_found_error', message: 'no model' } }]))
    assert.equal(result(m).is_error, true)
    assert.equal(result(m).api_error_status, 404)
  },
  async 'errors: the CLI dies'() {
    await assert.rejects(all(start({ replies: ['x'], faults: [{ line: 3, exit: 3, stderr: 'gone\n' }] })), /3/)
  },
  async 'streams: bytes one by one'() {
    const m = await all(start({ replies: [use('Read', {}), 'Héllo.'], chunk: 1 }))
    assert.equal(result(m).result, 'Héllo.')
  },
  async 'streams: a line of 2 MB'() {
    const big = 'x'.repeat(2 << 20)
    const m = await all(start([{ say: big, chunk_size: 1 << 21 }]))
    assert.equal(result(m).result.length, big.length)
  },
  async 'setMcpServers'() {
    const input = talk()
    const session = start(['Hello.'], {}, input)
    const hi = tool('hi', 'greets', {}, async () => ({ content: [{ type: 'text', text: 'hi' }] }))
    const changed = await session.setMcpServers({ late: createSdkMcpServer({ name: 'late', tools: [hi] }) })
    assert.deepEqual(changed.added, ['late'])
    input.send(user('a'))
    let init
    for await (const m of session) {
      if (m.subtype === 'init') init = m
      if (m.type === 'result') input.end()
    }
    assert.ok(init.tools.includes('mcp__late__hi'))
  },
}

let failed = 0
for (const [name, run] of Object.entries(scenarios)) {
  if (only && name !== only) continue
  const began = Date.now()
  let timer
  const late = new Promise((_, no) => { timer = setTimeout(() => no(new Error('no end after 20 s')), 20_000) })
  let error
  try {
    await Promise.race([run(), late])
  } catch (e) {
    error = String(e?.message ?? e)
    failed++
  }
  clearTimeout(timer)
  console.log(JSON.stringify({ name, ok: !error, ms: Date.now() - began, error }))
}
fs.rmSync(scratch, { recursive: true, force: true })
process.exit(failed ? 1 : 0)
