package egress

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

var (
	errTwice = errors.New("a member is repeated")
	// errRevoked ends what runs under a pass that was revoked.
	errRevoked = errors.New("the pass was revoked")
	errIdle    = errors.New("nothing came for too long")
	errClosed  = errors.New("the proxy is closed")
)

// answer is an error in the form of the API. The CLI shows its text to the user.
type answer struct {
	status int
	kind   string
	text   string
	retry  time.Duration // when to try again
	cause  error         // for the log
}

// The statuses are chosen for what the CLI makes of them. It repeats 429 and 5xx, shows
// 402 as it is, and calls 401 and 403 a failed login.
const (
	kindBilling  = "billing_error"
	kindLogin    = "authentication_error"
	kindRefused  = "permission_error"
	kindInvalid  = "invalid_request_error"
	kindTooLarge = "request_too_large"
	kindRate     = "rate_limit_error"
	kindBusy     = "overloaded_error"
	kindInternal = "api_error"
)

// write sends the answer.
func (a *answer) write(w http.ResponseWriter) {
	var body struct {
		Type  string `json:"type"`
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	body.Type, body.Error.Type, body.Error.Message = "error", a.kind, a.text
	text, _ := json.Marshal(body) // strings only: it cannot fail
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	if a.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(a.retry.Seconds()))))
	} else if a.status != http.StatusBadGateway {
		h.Set("X-Should-Retry", "false")
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(text)
}
