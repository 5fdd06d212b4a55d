package redislock

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockstep-sim/lockstep/impl"
)

// playServer is one Redis of a script.
type playServer struct {
	name   string // "" for the one that locks on a single server use
	store  *miniredis.Miniredis
	client *redis.Client
	redis  impl.Redis
	off    time.Duration // of the machine's clock
}

func newPlayServer(name string) *playServer {
	s := &playServer{name: name, store: miniredis.NewMiniRedis()}
	s.client = redis.NewClient(&redis.Options{
		Addr:       "127.0.0.1:1",
		Dialer:     func(context.Context, string, string) (net.Conn, error) { return s.store.Dial() },
		MaxRetries: -1, Protocol: 2, DisableIdentity: true, PoolSize: 1,
	})
	s.redis = FromGoRedis(s.client)
	s.store.SetTime(playBegin)
	s.store.ClockTTL(true)
	return s
}

func (s *playServer) close() {
	s.client.Close()
	s.store.Close()
}

// label stands before what concerns one of several servers.
func (s *playServer) label() string {
	if s.name == "" {
		return ""
	}
	return s.name + " "
}

// addServers makes servers s1 to sN, which all players share.
func (p *play) addServers(n int) {
	for i := len(p.several); i < n; i++ {
		s := newPlayServer(fmt.Sprintf("s%d", i+1))
		s.store.SetTime(p.clock.Now())
		p.several = append(p.several, s)
	}
}

// all are the servers of the script: the several, if it has them, or the one.
func (p *play) all() []*playServer {
	if len(p.several) > 0 {
		return p.several
	}
	return []*playServer{p.single}
}

// onServer does something to one of several servers.
func (p *play) onServer(args []string) error {
	i := slices.IndexFunc(p.several, func(s *playServer) bool { return s.name == args[0] })
	if i < 0 {
		return fmt.Errorf("no server is named %s", args[0])
	}
	s := p.several[i]
	if args[1] == "empty" {
		s.store.FlushAll()
		return nil
	}
	d, err := time.ParseDuration(args[1])
	s.off += d
	s.store.SetTime(p.clock.Now().Add(s.off))
	return err
}

// pick takes the oldest of some messages that goes to a server, "" = to any; "s1/3" is the third to s1.
func pick(messages *[]*message, server string) *message {
	name, place, later := strings.Cut(server, "/")
	n := 1
	if later {
		n, _ = strconv.Atoi(place)
	}
	for i, m := range *messages {
		if name != "" && m.server != name {
			continue
		}
		if n--; n == 0 {
			*messages = slices.Delete(*messages, i, i+1)
			return m
		}
	}
	return nil
}

// ear is a player's subscription. What it hears waits until the script moves it.
type ear struct {
	inner   impl.Subscription
	hand    chan string   // what the script delivers
	ended   chan struct{} // closed when the connection breaks, or is closed
	mutex   sync.Mutex
	waiting []string // published, not delivered
	over    bool
}

func (g gate) Subscribe(ctx context.Context, channel string) (impl.Subscription, error) {
	e := &ear{hand: make(chan string, 8), ended: make(chan struct{})}
	_, err := g.send(ctx, "SUBSCRIBE "+channel, func() (any, error) {
		var err error
		e.inner, err = g.server.redis.(impl.RedisSubscriber).Subscribe(context.Background(), channel)
		if err == nil {
			go e.listen() // from now on: the server holds a mutex while it sends
		}
		return "OK", err
	})
	if err != nil {
		e.Close()
		return nil, err
	}
	g.pl.mutex.Lock()
	g.pl.ears = append(g.pl.ears, e)
	g.pl.mutex.Unlock()
	return e, nil
}

func (e *ear) listen() {
	for {
		text, err := e.inner.Receive()
		if err != nil {
			return
		}
		e.mutex.Lock()
		e.waiting = append(e.waiting, strings.TrimLeft(text, "0"))
		e.mutex.Unlock()
	}
}

func (e *ear) Receive() (string, error) {
	select {
	case text := <-e.hand:
		return text, nil
	case <-e.ended:
		return "", errLost
	}
}

func (e *ear) Close() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.over {
		return
	}
	e.over = true
	close(e.ended)
	if e.inner != nil {
		e.inner.Close()
	}
}

// take removes the oldest message that waits.
func (e *ear) take() (string, bool) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if len(e.waiting) == 0 || e.over {
		return "", false
	}
	text := e.waiting[0]
	e.waiting = e.waiting[1:]
	return text, true
}

// heard lists what waits for a player.
func (pl *player) heard() []string {
	pl.mutex.Lock()
	defer pl.mutex.Unlock()
	var all []string
	for _, e := range pl.ears {
		e.mutex.Lock()
		if !e.over {
			all = append(all, e.waiting...)
		}
		e.mutex.Unlock()
	}
	return all
}

// listen moves the oldest message that waits for a player, or ends its subscription.
func (p *play) listen(pl *player, how string) error {
	pl.mutex.Lock()
	ears := slices.Clone(pl.ears)
	pl.mutex.Unlock()
	for _, e := range ears {
		if how == "break" {
			e.Close()
			continue
		}
		text, any := e.take()
		if !any {
			continue
		}
		if how == "hear" {
			e.hand <- text
		}
		return nil
	}
	if how != "break" {
		return fmt.Errorf("nothing was published to %s", pl.name)
	}
	return nil
}
