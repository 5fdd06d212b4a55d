package scenarios

import (
	"context"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/impl"
	"github.com/lockstep-sim/lockstep/impl/redislock"
	"github.com/lockstep-sim/lockstep/sim"
	"github.com/lockstep-sim/lockstep/sim/redis"
)

// mostServers bounds how many Redis machines keep one lock.
const mostServers = 15

// addRedises adds the Redis machines, each with a record of its own.
func (r *run) addRedises() {
	names := r.scenario.servers()
	if len(names) > 1 {
		r.recorder.majority = &majority{lease: r.scenario.Lease}
	}
	for _, name := range names {
		stored := &storedRecord{recorder: r.recorder, key: r.scenario.Lock, jitter: r.jitter(faults.NodeRef(name))}
		if len(names) > 1 {
			stored.key += "@" + name
		}
		stored.machine = redis.NewMachine(r.world, redis.Options{
			Name: name, Seed: r.setup.Seed, OnCommand: stored.executed, OnAccept: r.accepted,
			OnRestart: func() { stored.refresh("RESTART", nil) },
		})
		r.redises = append(r.redises, stored.machine)
		r.recorder.stored = append(r.recorder.stored, stored)
	}
}

// redisLink is a client's way to one Redis machine, over either transport.
type redisLink struct {
	direct *sim.DirectClient
	wire   *goredis.Client
	redis  impl.Redis
}

// linkTo makes a client's way to a Redis machine. Nothing is sent yet.
func (c *client) linkTo(machine string) redisLink {
	retries := c.run.scenario.Retries
	if c.run.setup.Transport == Direct {
		direct := c.process.NewDirectClient(sim.DirectConfig{Address: machine})
		return redisLink{direct: direct, redis: directRedis{direct, retries}}
	}
	quiet()
	wire := goredis.NewClient(wireOptions(c.process, machine, retries))
	return redisLink{wire: wire, redis: redislock.FromGoRedis(wire)}
}

// connect opens the connection ahead of the first command. A failure shows there.
func (l redisLink) connect(ctx context.Context) {
	if l.direct != nil {
		_ = l.direct.Connect(ctx)
	} else {
		_ = l.wire.Ping(ctx).Err()
	}
}

// directRedis makes the direct transport an impl.RedisSubscriber.
type directRedis struct {
	client  *sim.DirectClient
	retries int
}

func (d directRedis) Do(ctx context.Context, args ...any) (any, error) {
	reply, err := resend(ctx, d.retries, func() (any, error) { return d.client.Do(ctx, args...) })
	return reply, asRefusal(err)
}

func (d directRedis) Subscribe(ctx context.Context, channel string) (impl.Subscription, error) {
	_, feed, err := d.client.Feed(ctx, "SUBSCRIBE", channel)
	if err != nil {
		return nil, asRefusal(err)
	}
	return directSubscription{feed}, nil
}

// asRefusal gives the server's word that it refused a command the type that locks know.
func asRefusal(err error) error {
	if refusal, ok := err.(redis.ReplyError); ok {
		return impl.RedisError(refusal)
	}
	return err
}

// directSubscription is what a feed brings of one channel.
type directSubscription struct{ *sim.Feed }

func (s directSubscription) Receive() (string, error) {
	message, err := s.Next()
	if err != nil {
		return "", err
	}
	words, ok := message.([]any)
	if !ok || len(words) != 3 {
		return "", fmt.Errorf("a message of %v words was due, not %v", 3, message)
	}
	text, _ := words[2].(string)
	return text, nil
}
