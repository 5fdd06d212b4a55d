package redis

// nativeHandlers are the commands that this package answers itself, by the name that the table uses.
func nativeHandlers() map[string]handler {
	return map[string]handler{
		// Strings.
		"get": get, "set": set, "setnx": setnx, "setex": setWithExpiry("EX"), "psetex": setWithExpiry("PX"),
		"getset": getset, "getdel": getdel, "getex": getex, "mset": mset(false), "msetnx": mset(true),
		"incr": step(1), "decr": step(-1), "incrby": incrby, "decrby": decrby,
		// Hashes.
		"hincrby": hincrby,
		// Lists.
		"lpop": pop, "rpop": pop,
		// Keys.
		"del": del, "unlink": del, "exists": exists,
		"expire": expire("expire", 1000, false), "pexpire": expire("pexpire", 1, false),
		"expireat": expire("expireat", 1000, true), "pexpireat": expire("pexpireat", 1, true),
		"ttl": timeLeft(true, false), "pttl": timeLeft(false, false),
		"expiretime": timeLeft(true, true), "pexpiretime": timeLeft(false, true),
		"restore": restore, "randomkey": randomKey, "select": selectDB, "move": move, "copy": copyKey,
		"swapdb": swapDB, "flushdb": flush(false), "flushall": flush(true),
		"spop": seeded, "srandmember": seeded, "hrandfield": seeded, "zrandmember": seeded,
		"hexpire": withFieldExpiry, "hpersist": withFieldExpiry, "hpttl": withFieldExpiry,
		"hsetex": withFieldExpiry, "httl": withFieldExpiry,
		// Transactions.
		"multi": multi, "exec": exec, "discard": discard, "watch": watch, "unwatch": unwatch,
		// Waiting.
		"blpop": blockingPop("LPOP"), "brpop": blockingPop("RPOP"), "blmove": blmove, "brpoplpush": brpoplpush,
		"blmpop": blmpop, "bzpopmin": blockingPop("ZPOPMIN"), "bzpopmax": blockingPop("ZPOPMAX"), "bzmpop": bzmpop,
		"xread": xread("xread"), "xreadgroup": xread("xreadgroup"), "wait": wait,
		// Messages.
		"subscribe": subscribe(channels), "psubscribe": subscribe(patterns), "ssubscribe": subscribe(shards),
		"unsubscribe": unsubscribe(channels), "punsubscribe": unsubscribe(patterns),
		"sunsubscribe": unsubscribe(shards), "publish": publish, "spublish": spublish,
		"pubsub|channels": pubsubChannels(channels), "pubsub|shardchannels": pubsubChannels(shards),
		"pubsub|numsub": pubsubNumSub(channels), "pubsub|shardnumsub": pubsubNumSub(shards),
		"pubsub|numpat": pubsubNumPat,
		// Scripts.
		"eval": eval(false), "eval_ro": eval(true), "evalsha": evalsha(false), "evalsha_ro": evalsha(true),
		"script|load": scriptLoad, "script|exists": scriptExists, "script|flush": scriptFlush,
		"script|kill": scriptKill,
		// Connections and the server.
		"ping": ping, "echo": echo, "quit": quit, "hello": hello, "reset": reset,
		"client|setname": clientSetName, "client|getname": clientGetName, "client|id": clientID,
		"client|unblock": clientUnblock, "client|no-evict": accept,
		"config|get": configGet, "cluster": clusterDisabled, "time": timeOfDay, "role": role, "info": info,
	}
}
