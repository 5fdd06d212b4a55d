package redislock

import "sync"

// The scripts of the repaired lock. Each is one transition of the lock and all of it: the server runs nothing else
// meanwhile. They share their keys and arguments:
//
//	KEYS[1] the record   KEYS[2] the id of the hold   KEYS[3] the counter of tokens
//	ARGV[1] id           names the hold
//	ARGV[2] tail         the end of the record, which holds the owner
//	ARGV[3] lease        milliseconds
//	ARGV[4] level        to be written as the count
//
// The time is the server's. Everybody's deadlines are written and judged by that one clock, and no client's clock and
// no time server matters. Numbers are rendered with %.0f, since Lua would round a time to 14 digits.

// luaNow sets now.
const luaNow = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
`

// luaNowOfClient is the ablation that judges deadlines by the clock of whoever asks.
const luaNowOfClient = `
local now = tonumber(ARGV[5])
`

// luaRead sets record (false when there is none), expires, count and live.
const luaRead = `
local lease = tonumber(ARGV[3])
local record = redis.call('GET', KEYS[1])
local expires, count = 0, 0
if record then
  if not string.match(record, '^%s*{') then
    return redis.error_reply('NOTARECORD the value of ' .. KEYS[1] .. ' is not a lock record')
  end
  expires = tonumber(string.match(record, '"expires"%s*:%s*(%-?%d+)')) or 0
  count = tonumber(string.match(record, '"count"%s*:%s*(%-?%d+)')) or 0
end
local live = record and expires >= now
`

// luaMine sets mine: the record names this owner, and this very hold of it. The first alone would take the hold of a
// namesake, or one that was left behind by a lost answer, for the own.
const luaMine = `
local named = record and string.sub(record, -string.len(ARGV[2])) == ARGV[2]
local mine = named and redis.call('GET', KEYS[2]) == ARGV[1]
`

// luaMineByName is the ablation that compares the owner only.
const luaMineByName = `
local mine = record and string.sub(record, -string.len(ARGV[2])) == ARGV[2]
`

// luaWrite defines write(level, deadline). The keys outlive the deadline by one lease, so that it is the record that
// ends a hold, and vanish by themselves, so that no dead record stays.
const luaWrite = `
local function write(level, deadline)
  local record = '{"count":' .. level .. ',"expires":' .. string.format('%.0f', deadline) .. ARGV[2]
  local stay = string.format('%.0f', math.max(deadline - now, 0) + lease)
  redis.call('SET', KEYS[1], record, 'PX', stay)
  redis.call('SET', KEYS[2], ARGV[1], 'PX', stay)
end
`

// luaWriteForGood is the ablation without a TTL.
const luaWriteForGood = `
local function write(level, deadline)
  redis.call('SET', KEYS[1], '{"count":' .. level .. ',"expires":' .. string.format('%.0f', deadline) .. ARGV[2])
  redis.call('SET', KEYS[2], ARGV[1])
end
`

// luaToken defines token(), the number of a new hold. It comes before any write: it may fail.
const luaToken = `
local function token() return redis.call('INCR', KEYS[3]) end
`

// luaTokenReused is the ablation that numbers a hold as the one before.
const luaTokenReused = `
local function token()
  redis.call('SETNX', KEYS[3], 1)
  return tonumber(redis.call('GET', KEYS[3]))
end
`

// luaAcquire answers {granted, token, rest of the lease that stands now}. A refusal writes nothing. Asking again for a
// hold that was granted is granted again: a client library may have sent the request twice.
const luaAcquire = `
if live and mine then return {1, tonumber(redis.call('GET', KEYS[3]) or 0), expires - now} end
if live then return {0, 0, expires - now} end
local number = token()
write(1, now + lease)
return {1, number, lease}
`

// luaTake is the take-over of the ablation that looks first and writes later, as the published lock does: it writes
// and then judges what it has replaced.
const luaTake = `
local number = token()
write(1, now + lease)
if live then return {0, 0, expires - now} end
return {1, number, lease}
`

// luaEnter answers {granted, rest of the lease}. It writes the level, it does not count up: sent twice, it does the
// same as sent once. It never shortens a lease.
const luaEnter = `
if not (live and mine) then return {0, 0} end
local deadline = math.max(expires, now + lease)
write(ARGV[4], deadline)
return {1, deadline - now}
`

// luaEnterAnyway is the ablation that does not look at whose record it overwrites.
const luaEnterAnyway = `
write(ARGV[4], now + lease)
return {1, lease}
`

// luaLower writes a level of one or more and leaves the deadline as it is. It answers {1} when the hold was alive.
const luaLower = `
if not (live and mine) then return {0} end
write(ARGV[4], expires)
return {1}
`

// luaLowerAnyway is luaEnterAnyway for an unlock: it may bring back a record that is not there any more.
const luaLowerAnyway = `
write(ARGV[4], expires)
return {1}
`

// luaRelease ends a hold, be it alive or not, and answers {1} when it was alive.
const luaRelease = `
if not mine then return {0} end
redis.call('DEL', KEYS[1], KEYS[2])
return {live and 1 or 0}
`

// luaReleaseAnyway is the ablation that deletes whatever stands there.
const luaReleaseAnyway = `
return {redis.call('DEL', KEYS[1], KEYS[2]) > 0 and 1 or 0}
`

// luaCountUp and luaCountDown are the ablation that counts on the server instead of writing the level that its owner
// knows: sent twice, they count twice.
const luaCountUp = `
if not (live and mine) then return {0, 0} end
local deadline = math.max(expires, now + lease)
write(count + 1, deadline)
return {1, deadline - now}
`

const luaCountDown = `
if not (live and mine) then return {0} end
if count <= 1 then redis.call('DEL', KEYS[1], KEYS[2]) else write(count - 1, expires) end
return {1}
`

// luaInspect answers {live, mine, token, rest of the lease} and writes nothing.
const luaInspect = `
return {live and 1 or 0, mine and 1 or 0, tonumber(redis.call('GET', KEYS[3]) or 0), live and expires - now or 0}
`

// repairedScripts are the transitions of one lock.
type repairedScripts struct {
	acquire, take, enter, lower, release, inspect *script
}

// wholeScripts are those with every safeguard, made once.
var wholeScripts = sync.OnceValue(func() *repairedScripts { return composeScripts(func(string) bool { return false }) })

// composeScripts puts the scripts together without the safeguards that off names.
func composeScripts(off func(ablation string) bool) *repairedScripts {
	pick := func(ablation, whole, crippled string) string {
		if off(ablation) {
			return crippled
		}
		return whole
	}
	base := pick(expiryByClientClock, luaNow, luaNowOfClient) + luaRead + pick(ownerByNameOnly, luaMine, luaMineByName)
	write := pick(recordWithoutTTL, luaWrite, luaWriteForGood)
	token := pick(tokenReused, luaToken, luaTokenReused)
	enter := pick(reentryWithoutCompare, luaEnter, luaEnterAnyway)
	lower := pick(reentryWithoutCompare, luaLower, luaLowerAnyway)
	release := pick(releaseWithoutCompare, luaRelease, luaReleaseAnyway)
	if off(relativeCount) {
		enter, lower, release = luaCountUp, luaCountDown, luaCountDown
	}
	return &repairedScripts{
		acquire: newScript("the acquire script", base+write+token+luaAcquire),
		take:    newScript("the take-over script", base+write+token+luaTake),
		enter:   newScript("the re-entry script", base+write+enter),
		lower:   newScript("the level script", base+write+lower),
		release: newScript("the release script", base+write+release),
		inspect: newScript("the inspect script", base+luaInspect),
	}
}
