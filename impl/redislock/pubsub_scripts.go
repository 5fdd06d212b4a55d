package redislock

import "sync"

// pubSubRelease frees the hold and tells of it in one step: {1} when the hold was there. Nobody can hear of it and
// still find the key. KEYS[1] is the lock, ARGV[1] the value that names the hold.
var pubSubRelease = sync.OnceValue(func() *script {
	return newScript("the release script", `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {0} end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[1] .. ':released', ARGV[1])
return {1}
`)
})

// pubSubSeize is the ablation that takes a message for a grant: who was woken writes its own value without a look.
const pubSubSeize = `
local token = redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1, token, tonumber(ARGV[2])}
`
