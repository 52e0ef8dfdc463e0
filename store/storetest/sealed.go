package storetest

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// sealed is a store that encrypts what was said. The uuid of an entry stays readable,
// because stores compare it. A large entry is compressed first, so that the largest one
// still fits. Summaries are made here, of the entries: the store that it wraps cannot read them.
type sealed struct {
	store.Fleet
	key cipher.AEAD
}

// newSealed wraps a store. Every one of them has the same key.
func newSealed(s store.Fleet) store.Fleet {
	block, err := aes.NewCipher(bytes.Repeat([]byte("k"), 16))
	if err != nil {
		panic(err) // the key has a length that fits
	}
	key, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // as above
	}
	return sealed{s, key}
}

// sealedEntry is the form of an entry in the wrapped store.
type sealedEntry struct {
	UUID    string `json:"uuid,omitempty"`
	Sealed  []byte `json:"sealed"`
	Deflate bool   `json:"deflate,omitempty"`
}

func (s sealed) seal(e store.Entry) (store.Entry, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	out, text := sealedEntry{UUID: e.UUID(), Deflate: len(e) > store.MaxEntry/2}, []byte(e)
	if out.Deflate {
		var err error
		if text, err = deflate(e); err != nil {
			return nil, err
		}
	}
	out.Sealed = s.key.Seal(nil, nil, text, nil)
	return json.Marshal(out)
}

func deflate(e []byte) ([]byte, error) {
	var small bytes.Buffer
	w, err := flate.NewWriter(&small, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(e)
	err = errors.Join(err, w.Close())
	return small.Bytes(), err
}

func (s sealed) open(e store.Entry) (store.Entry, error) {
	var in sealedEntry
	if err := json.Unmarshal(e, &in); err != nil {
		return nil, err
	}
	text, err := s.key.Open(nil, nil, in.Sealed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	if in.Deflate {
		return io.ReadAll(flate.NewReader(bytes.NewReader(text)))
	}
	return text, nil
}

func (s sealed) Append(ctx context.Context, k store.Key, b store.Batch) error {
	entries := make([]store.Entry, len(b.Entries))
	for i, e := range b.Entries {
		var err error
		if entries[i], err = s.seal(e); err != nil {
			return err
		}
	}
	b.Entries = entries
	return s.Fleet.Append(ctx, k, b)
}

func (s sealed) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	return func(yield func(store.PlacedEntry, error) bool) {
		for e, err := range s.Fleet.Load(ctx, k, after) {
			if err == nil {
				e.Entry, err = s.open(e.Entry)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (s sealed) List(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		for sum, err := range s.Fleet.List(ctx, project) {
			if err == nil {
				sum.Data, err = s.summary(ctx, store.Key{Project: project, Session: sum.Session})
			}
			if errors.Is(err, store.ErrNotFound) {
				continue // it was deleted meanwhile
			}
			if !yield(sum, err) || err != nil {
				return
			}
		}
	}
}

// summary makes the summary of a session.
func (s sealed) summary(ctx context.Context, k store.Key) (data []byte, err error) {
	for e, err := range store.Entries(ctx, s, k) {
		if err != nil {
			return nil, err
		}
		data = storeimpl.Fold(data, e)
	}
	return data, nil
}
