package scenarios

import (
	"context"
	"errors"

	"github.com/lockstep-sim/lockstep/sim"
)

// resend makes a request, and makes it again as long as no answer comes, at most so many times: what go-redis does by
// itself unless MaxRetries is -1. Between two tries it makes no pause, as go-redis with its back-off switched off.
func resend(ctx context.Context, retries int, do func() (any, error)) (reply any, err error) {
	for sent := 0; ; sent++ {
		reply, err = do()
		if sent == retries || ctx.Err() != nil || !unanswered(err) {
			return reply, err
		}
	}
}

// unanswered tells errors that leave open whether a request was executed, or that say that no connection could be made.
func unanswered(err error) bool {
	return errors.Is(err, sim.ErrTimeout) || errors.Is(err, sim.ErrReset) || errors.Is(err, sim.ErrRefused)
}
