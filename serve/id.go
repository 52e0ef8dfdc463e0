package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/claude-agent-go/claude/store"
)

// idOf is the id of a conversation in addresses: its key, with ~ for the slash
// and ~~ for a ~. Names begin with a letter or digit, so it can be read back.
func idOf(key string) string {
	return strings.NewReplacer("~", "~~", "/", "~").Replace(key)
}

// keyOf is the key of the conversation with an id. What is not an id becomes a
// key that no conversation has.
func keyOf(id string) string {
	key := strings.NewReplacer("~~", "~", "~", "/").Replace(id)
	if idOf(key) != id {
		return ""
	}
	return key
}

// placeOf is where the records of a conversation are. Keys with and without a
// tenant are apart, so that no place is the beginning of another.
func placeOf(key string) string {
	if strings.Contains(key, "/") {
		return "t/" + key
	}
	return "c/" + key
}

// tenantOf is the tenant of a user in the fleet, which gives each its share of
// the processes.
func tenantOf(user string) string {
	if store.CheckProject(user) == nil {
		return user
	}
	sum := sha256.Sum256([]byte(user))
	return "user-" + hex.EncodeToString(sum[:8])
}

// uuidFrom makes a UUID that is always the same for the same words, so that a
// request that is repeated names the same thing.
func uuidFrom(words ...string) string {
	b := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8: a hash of our own
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
