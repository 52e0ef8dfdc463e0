package s3store

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/claude-agent-go/claude/store"
)

// Store keeps sessions in a bucket. Its methods may be called from any goroutine. A fleet
// also needs records: see [store.Join].
type Store struct{ *sessions }

var _ store.Sessions = (*Store)(nil)

// New returns a store in a bucket. The names of its objects begin with prefix,
// which may be "". Before its first write, the store checks that the server
// honours conditional writes; see [ErrUnconditional]. What a newer version of this package
// has laid out is refused with [store.ErrNewer].
func New(client *s3.Client, bucket, prefix string) *Store {
	return &Store{newSessions(&leases{objects: &objects{s3: client, bucket: bucket, prefix: prefix}})}
}

// ErrUnconditional means that the server ignores If-None-Match or If-Match when
// an object is written. The store writes nothing to such a server: two writers
// would overwrite each other.
var ErrUnconditional = errors.New("the server ignores the conditions of writes (If-None-Match, If-Match)")

// fail prefixes an error with its origin, once.
func fail(what any, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("claude: s3store: %v: %w", what, err)
}
