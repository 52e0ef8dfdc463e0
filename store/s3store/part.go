package s3store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/claude-agent-go/claude/store"
)

// part is an object with some entries of a transcript. It is written once, under a
// name that was never used before.
type part struct {
	Name    string `json:"name"`
	Entries int64  `json:"entries"`
	Bytes   int64  `json:"bytes"`
	Level   int    `json:"level,omitempty"` // how often it was compacted
}

// partsOf returns where the parts of a session are.
func partsOf(k store.Key) string { return k.Project + "/parts/" + k.Session + "/" }

// newPart writes a part.
func (s *sessions) newPart(ctx context.Context, k store.Key, body []byte, entries int64, level int) (part, error) {
	p := part{Name: rand.Text(), Entries: entries, Bytes: int64(len(body)), Level: level}
	_, err := s.put(ctx, partsOf(k)+p.Name, body, anyTag)
	return p, err
}

// batchMark begins a line that names the batch of the entries after it. An entry
// begins with a brace. Concatenated parts are again a part.
const batchMark = "-"

type batchLine struct {
	Batch string `json:"batch"`
}

// encode makes a part.
func encode(id string, entries []store.Entry) ([]byte, error) {
	out, err := json.Marshal(batchLine{id})
	if err != nil {
		return nil, err
	}
	out = append([]byte(batchMark), out...)
	for _, e := range entries {
		out = append(append(out, '\n'), e...)
	}
	return append(out, '\n'), nil
}

// decode reads a part.
func decode(p part, body []byte) (*content, error) {
	damaged := func(how string, args ...any) error {
		return fmt.Errorf("%w: part %s %s", store.ErrDamaged, p.Name, fmt.Sprintf(how, args...))
	}
	if int64(len(body)) != p.Bytes {
		return nil, damaged("has %d of %d bytes", len(body), p.Bytes)
	}
	c := new(content)
	for line := range bytes.Lines(body) {
		whole, ok := bytes.CutSuffix(line, []byte("\n"))
		if !ok {
			return nil, damaged("is cut off")
		}
		mark, isMark := bytes.CutPrefix(whole, []byte(batchMark))
		if !isMark {
			c.entries = append(c.entries, bytes.Clone(whole))
			continue
		}
		var b batchLine
		if err := json.Unmarshal(mark, &b); err != nil {
			return nil, damaged("has the line %.40q", whole)
		}
		c.batches = append(c.batches, b.Batch)
	}
	if int64(len(c.entries)) != p.Entries || len(c.batches) == 0 {
		return nil, damaged("has %d of %d entries", len(c.entries), p.Entries)
	}
	return c, nil
}

// read yields the content of parts in order. A part that is not there is errStale.
func (s *sessions) read(ctx context.Context, k store.Key, parts []part, yield func(*content) error) error {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = partsOf(k) + p.Name
	}
	i := 0
	for body, err := range s.fetch(ctx, names) {
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("%w: %s", errStale, parts[i].Name)
		}
		if err != nil {
			return err
		}
		c, err := decode(parts[i], body)
		if err != nil {
			return err
		}
		i++
		if err := yield(c); err != nil {
			return err
		}
	}
	return nil
}
