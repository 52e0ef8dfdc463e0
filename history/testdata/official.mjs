// Prints what the official SDK reads of the sessions in CLAUDE_CONFIG_DIR.
// Arguments: the SDK's module, then working directories to list.
const sdk = await import(process.argv[2])
const plain = (s) => ({ ID: s.sessionId, Title: s.summary, CustomTitle: s.customTitle ?? '', FirstPrompt: s.firstPrompt ?? '', Tag: s.tag ?? '', Dir: s.cwd ?? '', Branch: s.gitBranch ?? '', Created: s.createdAt ?? 0, Modified: s.lastModified, Size: s.fileSize ?? 0, Archived: s.archived ?? false })
const said = (m) => ({ Type: m.type, UUID: m.uuid, Session: m.session_id, Parent: m.parent_tool_use_id ?? '', Message: m.message ?? null })
const out = { Sessions: [], Dirs: {}, Messages: {}, System: {}, Agents: {} }
const all = await sdk.listSessions()
out.Sessions = all.map(plain)
for (const dir of process.argv.slice(3)) out.Dirs[dir] = (await sdk.listSessions({ dir })).map((s) => s.sessionId)
for (const s of all) {
  out.Messages[s.sessionId] = (await sdk.getSessionMessages(s.sessionId)).map(said)
  out.System[s.sessionId] = (await sdk.getSessionMessages(s.sessionId, { includeSystemMessages: true })).map((m) => m.type + ' ' + m.uuid)
  out.Agents[s.sessionId] = {}
  for (const a of await sdk.listSubagents(s.sessionId)) out.Agents[s.sessionId][a] = (await sdk.getSubagentMessages(s.sessionId, a)).map(said)
}
process.stdout.write(JSON.stringify(out))
