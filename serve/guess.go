package serve

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// guesses counts logins that failed in the last minute: by where they came from, and by
// the token that was guessed. It only slows those who guess: anyone who has a token that
// works is let in, however many others fail at the same address. The zero value is
// empty. Its methods may be called by several goroutines.
type guesses struct {
	mu   sync.Mutex
	made map[string][]time.Time
}

const (
	maxGuesses = 10     // in a minute, from one address or for one token
	maxGuessed = 10_000 // addresses and tokens that are counted
)

// add counts a login that failed, and reports whether too many have.
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

// forget drops what is over, and everything if that is not enough: the count is
// bounded, however many knock. The caller has the lock.
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

// guessed names what a failed login counts against.
func guessed(address, token string) []string {
	keys := []string{"from " + address}
	if _, rest := kindOfToken(token); rest != "" {
		if id, _, ok := strings.Cut(rest, "."); ok && len(id) <= 64 {
			keys = append(keys, "token "+id)
		}
	}
	return keys
}
