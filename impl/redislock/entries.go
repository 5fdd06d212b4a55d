package redislock

import (
	"fmt"
	"unicode/utf8"

	"github.com/lockstep-sim/lockstep/impl"
)

// Entries returns what the catalogue is to know of this package.
func Entries() []impl.Entry {
	return []impl.Entry{getSetEntry(), repairedEntry(), setNXEntry(), pubSubEntry(), redlockEntry()}
}

// checkEnvironment names what a lock needs and its environment lacks.
func checkEnvironment(entry impl.Entry, env impl.Environment) error {
	var missing string
	switch {
	case env.Clock == nil:
		missing = "Clock"
	case entry.Servers && len(env.Redises) == 0:
		missing = "Redises"
	case !entry.Servers && env.Redis == nil:
		missing = "Redis"
	case entry.TimeServer && env.Dial == nil:
		missing = "Dial"
	case entry.TimeServer && env.TimeServer == "":
		missing = "TimeServer"
	case !entry.TimeServer && env.Random == nil:
		missing = "Random"
	case !entry.TimeServer && env.Go == nil:
		missing = "Go"
	default:
		return nil
	}
	return fmt.Errorf("%s: Environment.%s is not set; the lock cannot work without it", entry.Name, missing)
}

// checkSettings checks what all locks of this package ask of their settings.
func checkSettings(entry impl.Entry, settings impl.Settings) error {
	if err := entry.Validate(settings); err != nil {
		return err
	}
	if settings.Lease.Milliseconds() == 0 {
		return fmt.Errorf("%s: the lease of %v is below one millisecond, the unit of the server", entry.Name, settings.Lease)
	}
	if !utf8.ValidString(settings.Owner.Machine) {
		return fmt.Errorf("%s: Owner.Machine %q is not UTF-8 and cannot be part of a record", entry.Name,
			settings.Owner.Machine)
	}
	return nil
}
