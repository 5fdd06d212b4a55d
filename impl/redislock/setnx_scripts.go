package redislock

import "sync"

// The scripts of SetNX. KEYS[1] is the lock, KEYS[2] the counter of tokens; ARGV[1] is the value that names the hold,
// ARGV[2] the lease in milliseconds.

// setNXAcquire answers {granted, token, rest of the lease that stands now}. The counter comes before the key: it may
// fail, and a script is not rolled back. Asking again for what was granted is granted again.
const setNXAcquire = `
local value = redis.call('GET', KEYS[1])
if value == ARGV[1] then
  return {1, tonumber(redis.call('GET', KEYS[2]) or 0), redis.call('PTTL', KEYS[1])}
end
if value then return {0, 0, redis.call('PTTL', KEYS[1])} end
local token = redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return {1, token, tonumber(ARGV[2])}
`

// setNXAcquireReused is the ablation that numbers a hold as the one before.
const setNXAcquireReused = `
local value = redis.call('GET', KEYS[1])
redis.call('SETNX', KEYS[2], 1)
local token = tonumber(redis.call('GET', KEYS[2]))
if value == ARGV[1] then return {1, token, redis.call('PTTL', KEYS[1])} end
if value then return {0, 0, redis.call('PTTL', KEYS[1])} end
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return {1, token, tonumber(ARGV[2])}
`

// setNXRelease answers {1} when the hold was there.
const setNXRelease = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return {redis.call('DEL', KEYS[1])} end
return {0}
`

// setNXReleaseAnyway is the ablation that deletes whatever stands there.
const setNXReleaseAnyway = `
return {redis.call('DEL', KEYS[1])}
`

// setNXExtend answers {1} when the hold was there and now has a whole lease.
const setNXExtend = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return {redis.call('PEXPIRE', KEYS[1], ARGV[2])} end
return {0}
`

// setNXExtendOrSet is the renewal of the ablation: it sets the key again when it is gone.
const setNXExtendOrSet = `
local value = redis.call('GET', KEYS[1])
if value and value ~= ARGV[1] then return {0} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1}
`

type setNXScripts struct{ acquire, release, extend *script }

// wholeSetNX are the scripts with every safeguard, made once.
var wholeSetNX = sync.OnceValue(func() setNXScripts { return composeSetNX(func(string) bool { return false }) })

// composeSetNX puts the scripts together without the safeguards that off names.
func composeSetNX(off func(ablation string) bool) setNXScripts {
	acquire, release, extend := setNXAcquire, setNXRelease, setNXExtend
	if off(tokenReused) {
		acquire = setNXAcquireReused
	}
	if off(releaseWithoutCompare) {
		release = setNXReleaseAnyway
	}
	if off(renewalNeverStopped) {
		extend = setNXExtendOrSet
	}
	return setNXScripts{
		acquire: newScript("the acquire script", acquire),
		release: newScript("the release script", release),
		extend:  newScript("the renewal script", extend),
	}
}
