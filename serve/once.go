package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// idempotencyLife is how long an Idempotency-Key is remembered, and idempotencyBusy how long a
// request may take before another with its key is worked on again.
const (
	idempotencyLife = 24 * time.Hour
	idempotencyBusy = time.Minute
)

// idempotencyRecord is the answer to a request with an Idempotency-Key.
type idempotencyRecord struct {
	Request string            `json:"request"` // a digest of it
	At      time.Time         `json:"at"`
	Status  int               `json:"status,omitzero"` // 0: not answered yet
	Header  map[string]string `json:"header,omitempty"`
	Body    []byte            `json:"body,omitempty"`
	// About is the key of the conversation that the answer shows something of, and
	// Deleted says that it was deleted since: then the answer is not kept.
	About   string `json:"about,omitzero"`
	Deleted bool   `json:"deleted,omitzero"`
	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

func digest(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:])
}
