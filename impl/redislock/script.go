package redislock

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/lockstep-sim/lockstep/impl"
)

// script is a Lua program for the server, which executes it in one step.
type script struct {
	name   string // for errors
	source string
	sha    string
}

func newScript(name, source string) *script {
	sum := sha1.Sum([]byte(source))
	return &script{name: name, source: source, sha: hex.EncodeToString(sum[:])}
}

// run executes the script by its digest, and by its text when the server does not have it, so that a caller sends
// one command, or two after a restart of the server. Replies are as of impl.Redis.
func (s *script) run(ctx context.Context, server impl.Redis, keys []string, args ...string) (any, error) {
	command := make([]any, 0, 3+len(keys)+len(args))
	command = append(command, "EVALSHA", s.sha, strconv.Itoa(len(keys)))
	for _, key := range keys {
		command = append(command, key)
	}
	for _, arg := range args {
		command = append(command, arg)
	}
	reply, err := server.Do(ctx, command...)
	var refusal impl.RedisError
	if errors.As(err, &refusal) && strings.HasPrefix(string(refusal), "NOSCRIPT") {
		command[0], command[1] = "EVAL", s.source
		reply, err = server.Do(ctx, command...)
	}
	return reply, err
}

// numbers runs a script that answers with n numbers.
func (s *script) numbers(
	ctx context.Context, server impl.Redis, n int, keys []string, args ...string,
) ([]int64, error) {
	reply, err := s.run(ctx, server, keys, args...)
	if err != nil {
		return nil, err
	}
	return integers(s.name, reply, n)
}
