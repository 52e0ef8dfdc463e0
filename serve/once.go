package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// idempotencyLife is how long an Idempotency-Key is remembered, and idempotencyBusy how
// long its request may take before a repetition runs it again.
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
	// About is the key of the conversation that the answer is about. Deleted is set
	// once that conversation is deleted: then the answer is no longer kept.
	About   string `json:"about,omitzero"`
	Deleted bool   `json:"deleted,omitzero"`
	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

func digest(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:])
}
