package login

import (
	"slices"
	"sync"
	"time"
)

// guesses counts the logins that failed in the last minute, by address and by guessed
// token. It only slows down guessing: a valid token is let in, however many others fail
// from the same address. The zero value is empty. Its methods may be called by several
// goroutines.
type guesses struct {
	mu   sync.Mutex
	made map[string][]time.Time
}

const (
	maxGuesses = 10     // in a minute, from one address or for one token
	maxGuessed = 10_000 // addresses and tokens that are counted
	maxID      = 64     // bytes of a token's id; one that is longer is not counted
)

// add counts a failed login, and reports whether there were too many.
func (g *guesses) add(now time.Time, keys ...string) (tooMany bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.made) > maxGuessed {
		g.forget(now)
	}
	if g.made == nil {
		g.made = make(map[string][]time.Time)
	}
	for _, key := range keys {
		recent := slices.DeleteFunc(g.made[key], func(at time.Time) bool { return now.Sub(at) > time.Minute })
		if len(recent) >= maxGuesses {
			tooMany = true
		} else {
			recent = append(recent, now)
		}
		g.made[key] = recent
	}
	return tooMany
}

// forget drops what has expired, and everything if that is not enough, so that the
// memory stays bounded under attack. The caller has the lock.
func (g *guesses) forget(now time.Time) {
	for key, made := range g.made {
		if len(made) == 0 || now.Sub(made[len(made)-1]) > time.Minute {
			delete(g.made, key)
		}
	}
	if len(g.made) > maxGuessed {
		clear(g.made)
	}
}

// guessed returns the keys that a failed login counts against.
func guessed(address, token string) []string {
	keys := []string{"from " + address}
	if _, id, _, ok := parse(token); ok && len(id) <= maxID {
		keys = append(keys, "token "+id)
	}
	return keys
}
