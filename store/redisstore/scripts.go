package redisstore

import "github.com/redis/go-redis/v9"

// What scripts answer instead of a result.
const (
	leaseLost = -1
	deleted   = -2
	conflict  = -3
	notFound  = -4
	damaged   = -5
)

// whenFull lets a script run when the server's memory is full: those that free
// memory must work then. (A script with such a line needs Redis 7.)
const whenFull = "#!lua flags=allow-oom\n"

// fence is the beginning of each script that changes something: the first key is
// the lease, the first argument its token, "" for none. A lease that was released
// ends at 0.
const fence = `
if ARGV[1] ~= '' then
	local l = redis.call('HMGET', KEYS[1], 'token', 'ends')
	if l[1] ~= ARGV[1] or l[2] == '0' then return -1 end
end
`

// publish announces a change that a script has made. A user who may not publish, or a server that
// cannot, must not stop the script in the middle: the change is made.
const publish = `
local function publish(channel, text)
	if text ~= '' then redis.pcall('SPUBLISH', channel, text) end
end
`

// now is the server's time in microseconds. Numbers are exact up to 2^53.
const now = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
`

// appendScript appends a batch.
//
// The life of a transcript is a number that it keeps until it is deleted. A
// transcript with a life and without entries has lost them: the server was allowed
// to evict keys.
//
//	KEYS  lease, deleted, entries, uuids, batches, list, life, lives
//	ARGV  token, session, batch id, member of the list, score or "", channel, announcement, then id and line of each entry
func appendScript() *redis.Script {
	return redis.NewScript(fence + now + publish + `
if redis.call('SISMEMBER', KEYS[2], ARGV[2]) == 1 then return -2 end
if #ARGV == 7 then return 0 end
local begun = redis.call('EXISTS', KEYS[3]) == 1
if not begun and redis.call('EXISTS', KEYS[7]) == 1 then return -5 end
if ARGV[3] ~= '' and redis.call('SADD', KEYS[5], ARGV[3]) == 0 then return 0 end
if not begun then redis.call('SET', KEYS[7], redis.call('INCR', KEYS[8])) end
local announcement = ''
for i = 8, #ARGV, 2 do
	if ARGV[i] == '' or redis.call('SADD', KEYS[4], ARGV[i]) == 1 then
		redis.call('RPUSH', KEYS[3], ARGV[i + 1])
		announcement = ARGV[7]
	end
end
redis.call('ZADD', KEYS[6], ARGV[5] == '' and string.format('%.0f', now) or ARGV[5], ARGV[4])
publish(ARGV[6], announcement)
return 0
`)
}

// deleteScript deletes a session, whose transcripts of sub-agents are listed
// under the fourth key. The first is the lease.
//
//	KEYS  lease, deleted, list, subs, summaries
//	ARGV  token, session, beginning of the keys of transcripts, channel, announcement
func deleteScript() *redis.Script {
	return redis.NewScript(whenFull + fence + publish + `
redis.call('SADD', KEYS[2], ARGV[2])
local subs = redis.call('ZRANGE', KEYS[4], 0, -1)
table.insert(subs, '')
for _, sub in ipairs(subs) do
	for _, part in ipairs({'entries', 'uuids', 'batches', 'life'}) do
		redis.call('DEL', ARGV[3] .. part .. ':' .. ARGV[2] .. ':' .. sub)
	end
end
redis.call('DEL', KEYS[4])
redis.call('ZREM', KEYS[3], ARGV[2])
redis.call('HDEL', KEYS[5], ARGV[2])
publish(ARGV[4], ARGV[5])
return 0
`)
}

// deleteSubScript deletes the transcript of a sub-agent.
//
//	KEYS  lease, entries, uuids, batches, life, subs
//	ARGV  token, sub, channel, announcement
func deleteSubScript() *redis.Script {
	return redis.NewScript(whenFull + fence + publish + `
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4], KEYS[5])
redis.call('ZREM', KEYS[6], ARGV[2])
publish(ARGV[3], ARGV[4])
return 0
`)
}

// acquireScript gives out a lease: its token and 0, or 0, the owner and how long
// the lease lasts. A token is a time, so that it grows even if the server has
// lost what it knew.
//
//	KEYS  lease
//	ARGV  owner, time to live in microseconds
func acquireScript() *redis.Script {
	return redis.NewScript(now + `
local l = redis.call('HMGET', KEYS[1], 'owner', 'ends')
if l[2] and tonumber(l[2]) > now then
	return {0, l[1], string.format('%.0f', tonumber(l[2]) - now)}
end
local token = math.max(tonumber(redis.call('HGET', KEYS[1], 'token') or '0') + 1, now)
redis.call('HSET', KEYS[1], 'token', string.format('%.0f', token), 'owner', ARGV[1], 'ends', string.format('%.0f', now + ARGV[2]))
return {token, '', '0'}
`)
}

// renewScript changes when a lease ends: a time from now, or 0 to release it.
//
//	KEYS  lease
//	ARGV  token, time to live in microseconds, channel, announcement or ""
func renewScript() *redis.Script {
	return redis.NewScript(whenFull + fence + now + publish + `
redis.call('HSET', KEYS[1], 'ends', ARGV[2] == '0' and '0' or string.format('%.0f', now + ARGV[2]))
publish(ARGV[3], ARGV[4])
return 0
`)
}

// changeScript makes several changes of records, all or none: it checks each before it
// makes the first, and announces all of them when they are made. The answer is the new revision
// of each, 0 for one that was dropped, or as many times why nothing was changed. Those that only
// drop and keep also work when memory is full.
//
//	KEYS  lease, revisions, then records and names of each kind
//	ARGV  token, channel, end of the announcements, then of each change: number of the kind, kind, name, put, drop or keep, revision, folder that must be empty, value
func changeScript(grows bool) *redis.Script {
	flags := whenFull
	if grows {
		flags = ""
	}
	return redis.NewScript(flags + now + publish + `
local function refused(why)
	local out = {}
	for i = 4, #ARGV, 7 do table.insert(out, why) end
	return out
end
if ARGV[1] ~= '' then
	local l = redis.call('HMGET', KEYS[1], 'token', 'ends')
	if l[1] ~= ARGV[1] or l[2] == '0' then return refused(-1) end
end
-- filled reports whether a folder has records of its own. It skips the folders below.
local function filled(names, folder)
	local from = '[' .. folder .. '/'
	while true do
		local found = redis.call('ZRANGEBYLEX', names, from, '(' .. folder .. '0', 'LIMIT', 0, 1)[1]
		if not found then return false end
		local sub = string.match(string.sub(found, #folder + 2), '^([^/]+)/')
		if not sub then return true end
		from = '[' .. folder .. '/' .. sub .. '0'
	end
end
for i = 4, #ARGV, 7 do
	local kind = 1 + 2 * ARGV[i]
	local old = redis.call('HGET', KEYS[kind], ARGV[i + 2])
	if ARGV[i + 3] == 'drop' and not old then return refused(-4) end
	if (old and string.match(old, '^%d+') or '0') ~= ARGV[i + 4] then return refused(-3) end
	if ARGV[i + 5] ~= '' and filled(KEYS[kind + 1], ARGV[i + 5]) then return refused(-3) end
end
local out, lines, next = {}, {}, math.max(tonumber(redis.call('GET', KEYS[2]) or '0'), now - 1)
for i = 4, #ARGV, 7 do
	local kind, name, revision = 1 + 2 * ARGV[i], ARGV[i + 2], '0'
	if ARGV[i + 3] == 'drop' then
		redis.call('HDEL', KEYS[kind], name)
		redis.call('ZREM', KEYS[kind + 1], name)
	elseif ARGV[i + 3] == 'put' then
		next = next + 1
		revision = string.format('%.0f', next)
		redis.call('HSET', KEYS[kind], name, revision .. ':' .. ARGV[i + 6])
		redis.call('ZADD', KEYS[kind + 1], 0, name)
	else
		revision = ARGV[i + 4]
	end
	table.insert(out, tonumber(revision))
	if ARGV[i + 3] ~= 'keep' then
		table.insert(lines, 'record ' .. ARGV[i + 1] .. ' ' .. name .. ' ' .. revision .. ' ' .. ARGV[3])
	end
end
if #lines > 0 then redis.call('SET', KEYS[2], string.format('%.0f', next)) end
publish(ARGV[2], table.concat(lines, '\n'))
return out
`)
}

// viewScript reads records and folders at one moment: number of the kind, name and value of
// each record, in turn, none twice. The answer has one element if there are too many or too
// large ones.
//
//	KEYS  records and names of each kind
//	ARGV  how many, bytes, then number of the kind, key, name, "" or number of the kind, folder, from, to
func viewScript() *redis.Script {
	return redis.NewScript(`
local out, seen, many, left = {}, {}, tonumber(ARGV[1]), tonumber(ARGV[2])
for i = 3, #ARGV, 4 do
	local kind, names = 2 * ARGV[i] - 1, {ARGV[i + 2]}
	if ARGV[i + 1] == 'folder' then
		names = redis.call('ZRANGEBYLEX', KEYS[kind + 1], ARGV[i + 2], ARGV[i + 3], 'LIMIT', 0, tonumber(ARGV[1]) + 1)
	end
	for _, name in ipairs(names) do
		local id = ARGV[i] .. ' ' .. name
		local value = not seen[id] and redis.call('HGET', KEYS[kind], name)
		if value then
			seen[id] = true
			many, left = many - 1, left - #value + (string.find(value, ':', 1, true) or 0)
			if many < 0 or left < 0 then return {'large'} end
			table.insert(out, ARGV[i])
			table.insert(out, name)
			table.insert(out, value)
		end
	end
end
return out
`)
}

// summaryScript keeps a summary, unless the session was deleted in the meantime.
//
//	KEYS  deleted, summaries
//	ARGV  session, summary
func summaryScript() *redis.Script {
	return redis.NewScript(`
if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 0 then redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) end
return 0
`)
}

// pageScript reads entries from one number to another, so many that they have
// about as many bytes as asked for. It begins with one entry and takes more at a
// time as long as they are small. The answer is the life of the transcript, how
// many entries it has, and the entries.
//
//	KEYS  entries, life
//	ARGV  from, to, bytes
func pageScript() *redis.Script {
	return redis.NewScript(`
local out = {redis.call('GET', KEYS[2]) or '', redis.call('LLEN', KEYS[1])}
local from, to, left, step = tonumber(ARGV[1]), math.min(tonumber(ARGV[2]), out[2]), tonumber(ARGV[3]), 1
while from < to and left > 0 do
	local size = 0
	for _, line in ipairs(redis.call('LRANGE', KEYS[1], from, math.min(from + step, to) - 1)) do
		table.insert(out, line)
		size = size + #line
	end
	from, left = from + step, left - size
	step = size > 65536 and 1 or math.min(step * 2, 128)
end
return out
`)
}

// scanScript reads records in the order of their names, about as many bytes as
// asked for: names and values in turn.
//
//	KEYS  records, names
//	ARGV  from, how many, bytes, to
func scanScript() *redis.Script {
	return redis.NewScript(`
local out, left = {}, tonumber(ARGV[3])
for _, name in ipairs(redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[4], 'LIMIT', 0, ARGV[2])) do
	local value = redis.call('HGET', KEYS[1], name)
	if value then
		table.insert(out, name)
		table.insert(out, value)
		left = left - #value
		if left <= 0 then break end
	end
end
return out
`)
}

// clockScript returns the time of the node that has a key, in microseconds.
//
//	KEYS  clock
func clockScript() *redis.Script {
	return redis.NewScript(now + "return string.format('%.0f', now)")
}
