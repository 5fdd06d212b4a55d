package redislock

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/redis/go-redis/v9"

	"github.com/lockstep-sim/lockstep/impl"
)

// GoRedis is the part of a go-redis client that is used. *redis.Client, *redis.ClusterClient, *redis.Conn and
// redis.UniversalClient have it.
type GoRedis interface {
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// FromGoRedis makes a go-redis client serve a lock.
//
// Make the client with MaxRetries set to -1. By default it sends a command again when the answer was lost, and a
// command that was executed twice tells the lock of its own first execution as if it were a rival's.
//
// The client's read timeout bounds each call of a lock. Closing the result closes the client. Of a *redis.Client the
// result is an impl.RedisSubscriber: each subscription has a connection of its own, by the client's options.
func FromGoRedis(client GoRedis) impl.Redis {
	if single, ok := client.(*redis.Client); ok {
		return goRedisSubscriber{goRedis{client}, single.Options()}
	}
	return goRedis{client}
}

type goRedis struct{ client GoRedis }

func (g goRedis) Do(ctx context.Context, args ...any) (any, error) {
	reply, err := g.client.Do(ctx, args...).Result()
	if err == nil {
		return reply, nil
	}
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	// The error itself must be the server's. The library also has errors that wrap an answer of the server and mean
	// that the connection is out of step: what those say of this command is unknown.
	if refusal, ok := err.(redis.Error); ok {
		return nil, impl.RedisError(refusal.Error())
	}
	return nil, err
}

func (g goRedis) Close() error { return closeIfAble(g.client) }

// closeIfAble closes a client by whichever form of Close it has.
func closeIfAble(client any) error {
	switch closer := client.(type) {
	case io.Closer:
		return closer.Close()
	case interface{ Close() }:
		closer.Close()
	}
	return nil
}

// refused tells whether err is the server's answer, so that the command certainly had no effect.
func refused(err error) bool {
	var refusal impl.RedisError
	return errors.As(err, &refusal)
}

// text reads a reply that is a string or nil.
func text(command string, reply any) (value string, present bool, err error) {
	switch reply := reply.(type) {
	case nil:
		return "", false, nil
	case string:
		return reply, true, nil
	default:
		return "", false, fmt.Errorf("redislock: unexpected reply to %s: %T where a string or nil was due", command, reply)
	}
}

// integers reads a reply that is a list of n numbers.
func integers(command string, reply any, n int) ([]int64, error) {
	list, ok := reply.([]any)
	if !ok || len(list) != n {
		return nil, fmt.Errorf("redislock: unexpected reply to %s: %v where %d numbers were due", command, reply, n)
	}
	numbers := make([]int64, n)
	for i, element := range list {
		if numbers[i], ok = element.(int64); !ok {
			return nil, fmt.Errorf("redislock: unexpected reply to %s: element %d is %T, not a number", command, i, element)
		}
	}
	return numbers, nil
}
