package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/claude-agent-go/claude/store"
)

// idOf returns the id of a conversation in addresses: its key, with ~ for the slash and
// ~~ for a ~. Names begin with a letter or digit, so the id can be read back.
func idOf(key string) string {
	return strings.NewReplacer("~", "~~", "/", "~").Replace(key)
}

// keyOf returns the key of the conversation with an id. A text that is not an id
// becomes a key that no conversation has.
func keyOf(id string) string {
	key := strings.NewReplacer("~~", "~", "~", "/").Replace(id)
	if idOf(key) != id {
		return ""
	}
	return key
}

// tenantOf returns the tenant of a user in the fleet, which gives each tenant a fair
// share of the processes.
func tenantOf(user string) string {
	if store.CheckProject(user) == nil {
		return user
	}
	sum := sha256.Sum256([]byte(user))
	return "user-" + hex.EncodeToString(sum[:8])
}

// uuidFrom derives a UUID from words. The same words always give the same UUID, so a
// repeated request names the same thing.
func uuidFrom(words ...string) string {
	b := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8: a hash of our own
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
