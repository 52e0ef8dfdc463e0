package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Entry is a line of a transcript without its line feed: a JSON object, byte
// for byte as the CLI wrote it. Its content is up to the CLI; a store needs
// only its uuid.
type Entry []byte

// UUID returns the id of the entry within its transcript, or "" if it has
// none. Of entries without an id, such as titles, only the last one counts.
func (e Entry) UUID() string { return jsonx.Text(jsonx.Member(e, "uuid")) }

// ID returns the uuid in a form that stores compare and keep an index of. It has
// at most 71 bytes: of a uuid that is longer than 64 bytes, it is a digest. It
// is "" if the entry has no uuid.
func (e Entry) ID() string { return indexed(e.UUID()) }

// indexed is the form of a uuid that stores compare.
func indexed(uuid string) string {
	if len(uuid) <= 64 {
		return uuid
	}
	sum := sha256.Sum256([]byte(uuid))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Check returns an error that matches [ErrInvalid] if the entry is not a JSON
// object on one line.
func (e Entry) Check() error {
	_, err := e.checkedID()
	return err
}

// checkedID is Check and ID in one pass.
func (e Entry) checkedID() (id string, err error) {
	if len(e) > MaxEntry {
		return "", fmt.Errorf("claude: store: %w: an entry of %d bytes is larger than %d", ErrInvalid, len(e), MaxEntry)
	}
	id, usual := e.usualID()
	switch {
	case len(e) == 0 || e[0] != '{' || !usual && !jsonx.Valid(e) && !json.Valid(e): // the last lets repeated names pass
		return "", fmt.Errorf("claude: store: %w: an entry is not a JSON object", ErrInvalid)
	case bytes.IndexByte(e, '\n') >= 0 || bytes.IndexByte(e, '\r') >= 0:
		return "", fmt.Errorf("claude: store: %w: an entry is on more than one line", ErrInvalid)
	case !usual:
		return e.ID(), nil
	}
	return id, nil
}

// usualID reads an entry to its end and returns its ID. It fails where anything
// about it is unusual.
func (e Entry) usualID() (id string, ok bool) {
	var s jsonx.Scanner
	s.Start(e)
	o := s.Object()
	for name := s.Next(&o); name != nil; name = s.Next(&o) {
		if string(name) == "uuid" {
			id = indexed(jsonx.Text(s.Skip()))
		} else {
			s.Skip()
		}
	}
	return id, s.End()
}

// MaxEntry is how many bytes an entry may have.
const MaxEntry = 64 << 20

// Batch is a group of entries that one call appends.
type Batch struct {
	// ID identifies this batch within its transcript, so that it can be sent
	// again if it is not known whether it arrived. "" means that it is sent
	// once. It has the form of a name, such as a UUID.
	ID string
	// Fence is the lease under which the batch is written. The zero Fence
	// means none.
	Fence Fence
	// Entries are the lines, in order. A batch without entries does nothing.
	Entries []Entry
}

// Check checks a batch for a key: the key itself, the id, the fence and every
// entry. Every store calls it before it changes anything.
func (b Batch) Check(k Key) error {
	_, err := b.checkedIDs(k)
	return err
}

// checkedIDs is Check, and the ID of each entry, in one pass over them.
func (b Batch) checkedIDs(k Key) ([]string, error) {
	if err := k.Check(); err != nil {
		return nil, err
	}
	if b.ID != "" {
		if err := checkName("batch", b.ID); err != nil {
			return nil, err
		}
	}
	if err := b.Fence.check(k.Project); err != nil {
		return nil, err
	}
	ids := make([]string, len(b.Entries))
	for i, e := range b.Entries {
		id, err := e.checkedID()
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}
