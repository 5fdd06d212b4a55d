package redislock

import "sync"

// The scripts of Redlock, for each server alike. KEYS[1] is the lock; ARGV[1] is the value that names the hold, ARGV[2]
// the lease in milliseconds. They answer with one number, a reply.

// redlockAcquire takes the key. Asking again for what was granted is granted again, and lasts no longer for it.
const redlockAcquire = `
local value = redis.call('GET', KEYS[1])
if value == ARGV[1] then return {1} end
if value then return {0} end
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return {1}
`

// redlockExtend gives a key that is there a whole lease. One that is gone is set again, which is another answer.
const redlockExtend = `
local value = redis.call('GET', KEYS[1])
if value == ARGV[1] then return {redis.call('PEXPIRE', KEYS[1], ARGV[2])} end
if value then return {0} end
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return {2}
`

type redlockScripts struct{ acquire, release, extend *script }

// wholeRedlock are the scripts with every safeguard, made once.
var wholeRedlock = sync.OnceValue(func() redlockScripts { return composeRedlock(func(string) bool { return false }) })

// composeRedlock puts the scripts together without the safeguards that off names.
func composeRedlock(off func(ablation string) bool) redlockScripts {
	release := setNXRelease
	if off(releaseWithoutCompare) {
		release = setNXReleaseAnyway
	}
	return redlockScripts{
		acquire: newScript("the acquire script", redlockAcquire),
		release: newScript("the release script", release),
		extend:  newScript("the renewal script", redlockExtend),
	}
}
