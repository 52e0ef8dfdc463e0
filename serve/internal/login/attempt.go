package login

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
	"time"
)

const (
	AttemptLife  = 10 * time.Minute // how long a person may take at the provider
	maxAttemptTo = 2 << 10          // bytes of the path that was asked for
)

// Attempt is a login that began in a browser and continues at a provider. The browser keeps it
// in a cookie and the server keeps nothing, so that any replica can finish it.
type Attempt struct {
	secret string
	to     string
}

// BeginAttempt makes an attempt that cannot be guessed. Afterwards the browser goes to a
// path of this server.
func BeginAttempt(to string) Attempt {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	if len(to) > maxAttemptTo {
		to = "/"
	}
	return Attempt{base64.RawURLEncoding.EncodeToString(secret), to}
}

// ParseAttempt reads the value of a cookie.
func ParseAttempt(text string) (Attempt, bool) {
	secret, rest, ok := strings.Cut(text, ".")
	to, err := base64.RawURLEncoding.DecodeString(rest)
	return Attempt{secret, string(to)}, ok && err == nil && len(secret) == base64.RawURLEncoding.EncodedLen(32)
}

// Text is the value of the cookie.
func (a Attempt) Text() string {
	return a.secret + "." + base64.RawURLEncoding.EncodeToString([]byte(a.to))
}

// To is the path to which the browser goes afterwards.
func (a Attempt) To() string { return a.to }

// Derive makes a value of the secret. Those of other purposes do not follow from it.
func (a Attempt) Derive(purpose string) string {
	sum := sha256.Sum256([]byte("claude serve login " + purpose + " " + a.secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// State returns the value that the provider sends back: only the browser of the attempt has
// it, so no other can finish the login.
func (a Attempt) State() string { return a.Derive("state") }

// SentBack reports whether a provider has sent back the state of this attempt, once.
func (a Attempt) SentBack(states []string) bool {
	return len(states) == 1 && subtle.ConstantTimeCompare([]byte(states[0]), []byte(a.State())) == 1
}
