package notify

import (
	"errors"
	"math/rand/v2"
	"time"
)

const (
	// GiveUp is the age of a message at which a failed attempt is final. It is counted from the
	// time at which the message was queued.
	GiveUp = 24 * time.Hour
	// GiveUpRefused is the time for which a message is retried while the receiver refuses it.
	GiveUpRefused = time.Hour

	firstPause   = 2 * time.Second
	longestPause = 10 * time.Minute
)

// pauseAfter returns the pause after a number of failed attempts. Each pause is about twice as long
// as the one before, up to longestPause. A random part makes it up to a quarter shorter or longer.
func pauseAfter(attempts int) time.Duration {
	pause := longestPause
	if attempts < 20 {
		pause = min(firstPause<<max(attempts-1, 0), longestPause)
	}
	return pause*3/4 + rand.N(pause/2)
}

// hasFailed reports whether a message has failed permanently, given the error of its last attempt.
// The argument "refused" is the time since which all attempts were refused.
func hasFailed(err error, queued, refused, now time.Time) bool {
	switch fault, _ := faultOf(err); fault {
	case Gone:
		return true
	case Refused:
		return now.Sub(refused) >= GiveUpRefused || now.Sub(queued) >= GiveUp
	default:
		return now.Sub(queued) >= GiveUp
	}
}

// errRemoved is the error of pending messages for a notifier that was removed from the configuration.
var errRemoved = errors.New("the notifier is no longer configured")
