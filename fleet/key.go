package fleet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/claude-agent-go/claude/store"
)

// The kinds of the fleet's records.
const (
	kindConversation = "conversation"
	kindPrompt       = "prompt"
	kindOutcome      = "outcome"
	kindDeletion     = "deletion"
	kindCopying      = "copying"
)

// TenantOf returns the tenant in a key: what is before the slash, or "".
func TenantOf(key string) string {
	tenant, _, found := strings.Cut(key, "/")
	if !found {
		return ""
	}
	return tenant
}

// checkKey refuses a key that is not a name, or a tenant and a name.
func checkKey(project, key string) error {
	err := store.CheckLease(project, key)
	if err == nil && strings.Count(key, "/") > 1 {
		err = &store.KeyError{Value: key, Reason: "has more parts than a tenant and a name"}
	}
	if bad, ok := errors.AsType[*store.KeyError](err); ok && bad.Part != "project" {
		err = &keyError{store.KeyError{Part: "key", Value: key, Reason: bad.Reason}}
	}
	if err != nil {
		return &ConversationError{key, err}
	}
	return nil
}

// keyError is a [*store.KeyError] about the key of a conversation, without the key,
// which the error around it already names.
type keyError struct{ store.KeyError }

func (e *keyError) Error() string {
	return fmt.Sprintf("the key %s; a key is a name, or a tenant and a name with a slash between them, such as %q", e.Reason, "acme/user-42")
}

func (e *keyError) Unwrap() error { return &e.KeyError }

// place is the name of a conversation's record, and the prefix of the names of its
// other records. Keys with and without a tenant are kept apart, so that no key is a
// prefix of another.
func place(key string) string {
	if TenantOf(key) == "" {
		return "c/" + key
	}
	return "t/" + key
}

// tenantPlace is the folder that has the places of a tenant's conversations.
func tenantPlace(tenant string) string { return "t/" + tenant }

// keyAt is the key of the conversation at a place, or of a record below it.
func keyAt(name string) string {
	parts := strings.Split(name, "/")
	switch {
	case len(parts) >= 2 && parts[0] == "c":
		return parts[1]
	case len(parts) >= 3 && parts[0] == "t":
		return parts[1] + "/" + parts[2]
	}
	return ""
}
