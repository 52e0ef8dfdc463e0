// The official TypeScript SDK as a reader of sessions on disk.
//
//   node history.mjs <the SDK's module> list|read <session>
//
// Prints {"NS","Count","Bytes"}: the time of the call, how many sessions or
// messages there were, and the most memory that this process had.
import fs from 'node:fs'
import { pathToFileURL } from 'node:url'

const [module, op, session] = process.argv.slice(2)
const sdk = await import(pathToFileURL(module))
const begin = process.hrtime.bigint()
let count = 0, length = 0
if (op === 'list') {
  for (const s of await sdk.listSessions()) if (s.summary) count++
} else {
  for (const m of await sdk.getSessionMessages(session)) {
    const content = m.message.content
    if (typeof content === 'string') length += content.length
    else for (const b of content) length += (b.text ?? b.content ?? '').length
    count++
  }
}
const ns = Number(process.hrtime.bigint() - begin)
let bytes = 0
try {
  bytes = 1024 * Number(/VmHWM:\s*(\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1])
} catch {} // where the system does not say
process.stdout.write(JSON.stringify({ NS: ns, Count: count, Bytes: bytes }))
