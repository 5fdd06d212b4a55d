package redislock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockstep-sim/lockstep/impl"
)

// goRedisSubscriber is a go-redis client that can also listen.
type goRedisSubscriber struct {
	goRedis
	options *redis.Options
}

// errSubscriptionOver is what go-redis gets when it tries to mend a subscription.
var errSubscriptionOver = errors.New("redislock: the subscription is over")

// Subscribe listens over a client of its own with one connection. The library would mend a broken connection without a
// word, and its user would not know that messages were missed; this client cannot dial a second time.
func (g goRedisSubscriber) Subscribe(ctx context.Context, channel string) (impl.Subscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &goRedisSubscription{}
	options := *g.options
	options.Dialer = s.once(g.options.Dialer)
	options.MinIdleConns = 0
	options.PushNotificationProcessor = nil // the other client's; and what it handles is about pools of connections
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	s.client = redis.NewClient(&options)
	s.messages = s.client.Subscribe(ctx)
	err := s.messages.Subscribe(ctx, channel)
	if err == nil {
		err = s.confirmed(ctx, options.ReadTimeout)
	}
	if err != nil {
		s.free()
		return nil, fmt.Errorf("redislock: subscribe to %q: %w", channel, err)
	}
	return s, nil
}

type goRedisSubscription struct {
	client   *redis.Client
	messages *redis.PubSub

	mutex  sync.Mutex // never held across a wait
	conn   net.Conn
	closed bool
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// once makes a dialer that yields one connection and no other after it.
func (s *goRedisSubscription) once(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if s.dialled() {
			return nil, errSubscriptionOver
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.conn = conn
		return conn, nil
	}
}

func (s *goRedisSubscription) dialled() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.conn != nil || s.closed
}

// confirmed waits for the server's word that the subscription stands.
func (s *goRedisSubscription) confirmed(ctx context.Context, timeout time.Duration) error {
	first, err := s.messages.ReceiveTimeout(ctx, timeout)
	if err != nil {
		return err
	}
	if _, ok := first.(*redis.Subscription); !ok {
		return fmt.Errorf("unexpected answer %v", first)
	}
	return nil
}

func (s *goRedisSubscription) Receive() (string, error) {
	for {
		received, err := s.messages.Receive(context.Background())
		if err != nil {
			s.free()
			return "", err
		}
		if message, ok := received.(*redis.Message); ok {
			return message.Payload, nil
		}
	}
}

// Close cuts the connection. The rest is freed by Receive, which then fails: the library holds a mutex while it tries
// to mend a connection, and whoever closes must not wait for that.
func (s *goRedisSubscription) Close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.closed = true
	if s.conn != nil {
		_ = s.conn.Close()
	}
}

// free ends what the library keeps.
func (s *goRedisSubscription) free() {
	s.Close()
	_ = s.messages.Close()
	_ = s.client.Close()
}
