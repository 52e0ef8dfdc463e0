// Package blobtest has the contract of [workspace.Blobs] as tests, for authors of
// blobs of their own: a bucket, a database, a cache in front of either.
//
//	func TestBlobs(t *testing.T) {
//		blobtest.Run(t, blobtest.Subject{Open: func(t *testing.T) workspace.Blobs { return open(t) }})
//	}
//
// The hard part of the contract is age. A collection removes old chunks while saves put
// some of them again, so a Put that has returned must win against every Delete that
// names an earlier time. Give the subject a PutOld, or that is not tested.
//
// Every test has chunks of its own, so blobs may be shared by tests and between runs.
package blobtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// Subject is a kind of blobs to be tested. Its functions are called by one goroutine at a
// time.
type Subject struct {
	// Open returns blobs for a test. It may return the same ones each time.
	Open func(t *testing.T) workspace.Blobs
	// PutOld puts a chunk as if that had happened so long ago. If it is nil, the age of
	// chunks is not tested.
	PutOld func(t *testing.T, b workspace.Blobs, name string, data []byte, ago time.Duration)
}

// Run tests blobs against the contract.
func Run(t *testing.T, of Subject) {
	tests := []contract{{"Nothing", nothing}, {"Contents", contents}, {"Delete", deletion}, {"List", listing}}
	if of.PutOld != nil {
		tests = append(tests, contract{"PutAgain", again}, contract{"Copies", copies}, contract{"DeleteBesidePut", beside})
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) { c.run(&checked{of.Open(t), t, of}) })
	}
}

// contract is one promise of blobs.
type contract struct {
	name string
	run  func(*checked)
}

// checked are the blobs of a test.
type checked struct {
	workspace.Blobs
	t  *testing.T
	of Subject
}

const (
	// age is that of old chunks, and limit that from which they may be removed. Between
	// them is room for blobs that note the time of a Put only now and then.
	age   = 12 * time.Hour
	limit = 2 * time.Hour
)

// later is a time before which everything was put.
func later() time.Time { return time.Now().Add(age) }

// chunk is a new chunk and its name.
func chunk(size int) (name string, data []byte) {
	data = make([]byte, size)
	_, _ = rand.Read(data) // it never fails
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), data
}

func (s *checked) ctx() context.Context { return s.t.Context() }

func (s *checked) put(name string, data []byte) {
	s.t.Helper()
	if err := s.Put(s.ctx(), name, data); err != nil {
		s.t.Fatalf("Put: %v", err)
	}
}

// has wants a chunk to be there, as it was put.
func (s *checked) has(what, name string, want []byte) {
	s.t.Helper()
	if got, err := s.Get(s.ctx(), name); err != nil || !bytes.Equal(got, want) {
		s.t.Errorf("%s: Get = %d bytes, %v; want the %d that were put", what, len(got), err, len(want))
	}
}

// lacks wants a chunk not to be there.
func (s *checked) lacks(what, name string) {
	s.t.Helper()
	if _, err := s.Get(s.ctx(), name); !errors.Is(err, store.ErrNotFound) {
		s.t.Errorf("%s: Get = %v, want store.ErrNotFound", what, err)
	}
}

// lists reports how often a chunk is listed as put before a time.
func (s *checked) lists(name string, before time.Time) (count int) {
	s.t.Helper()
	for found, err := range s.List(s.ctx(), before) {
		if err != nil {
			s.t.Fatalf("List: %v", err)
		}
		if found == name {
			count++
		}
	}
	return count
}

func (s *checked) remove(name string, before time.Time) {
	s.t.Helper()
	if err := s.Delete(s.ctx(), name, before); err != nil {
		s.t.Errorf("Delete: %v", err)
	}
}

func nothing(s *checked) {
	name, _ := chunk(9)
	s.lacks("a chunk that was never put", name)
	s.remove(name, later())
	if n := s.lists(name, later()); n != 0 {
		s.t.Errorf("a chunk that was never put is listed %d times", n)
	}
}

func contents(s *checked) {
	for _, size := range []int{1, 1000, workspace.MaxBlob} {
		name, data := chunk(size)
		mine := bytes.Clone(data)
		s.put(name, mine)
		clear(mine) // the caller uses it again
		s.has("put once", name, data)
		s.put(name, data)
		s.has("put twice", name, data)
	}
}

func deletion(s *checked) {
	name, data := chunk(9)
	other, kept := chunk(9)
	s.put(name, data)
	s.put(other, kept)
	s.remove(name, time.Now().Add(-limit))
	s.has("deleted as an old one", name, data)
	s.remove(name, later())
	s.lacks("deleted", name)
	s.remove(name, later())
	s.has("another", other, kept)
	s.put(name, data)
	s.has("put after it was deleted", name, data)
}

func listing(s *checked) {
	name, data := chunk(9)
	s.put(name, data)
	if n := s.lists(name, time.Now().Add(-limit)); n != 0 {
		s.t.Error("a new chunk is listed as an old one")
	}
	if n := s.lists(name, later()); n != 1 {
		s.t.Errorf("a chunk is listed %d times", n)
	}
	other, more := chunk(9)
	s.put(other, more)
	for _, err := range s.List(s.ctx(), later()) { // a loop may be left
		if err != nil {
			s.t.Error(err)
		}
		break
	}
}

func again(s *checked) {
	name, data := chunk(9)
	s.of.PutOld(s.t, s, name, data, age)
	before := time.Now().Add(-limit)
	if n := s.lists(name, before); n != 1 {
		s.t.Errorf("an old chunk is listed %d times", n)
	}
	s.has("an old chunk", name, data)
	s.put(name, data)
	if n := s.lists(name, before); n != 0 {
		s.t.Error("a chunk that was put again is listed as an old one")
	}
	s.remove(name, before)
	s.has("put again", name, data)
	s.remove(name, later())
	s.lacks("deleted", name)
}

// copies wants a chunk that is put again and again to be removed as a whole.
func copies(s *checked) {
	name, data := chunk(9)
	for n := range 3 {
		s.of.PutOld(s.t, s, name, data, age-time.Duration(n)*2*time.Hour)
	}
	before := time.Now().Add(-limit)
	if n := s.lists(name, before); n != 1 {
		s.t.Errorf("a chunk that was put three times is listed %d times", n)
	}
	s.remove(name, before)
	s.lacks("deleted", name)
}

// beside lets a save put an old chunk at the moment in which a collection deletes it.
func beside(s *checked) {
	for range 50 {
		name, data := chunk(9)
		s.of.PutOld(s.t, s, name, data, age)
		before := time.Now().Add(-limit)
		var wg sync.WaitGroup
		start := make(chan struct{})
		errs := make([]error, 3)
		for i, call := range []func() error{
			func() error { return s.Put(s.ctx(), name, data) },
			func() error { return s.Put(s.ctx(), name, data) },
			func() error { return s.Delete(s.ctx(), name, before) },
		} {
			wg.Go(func() {
				<-start
				errs[i] = call()
			})
		}
		close(start)
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			s.t.Fatal(err)
		}
		s.has("put while it was deleted", name, data)
		s.remove(name, before)
		s.has("put before it was deleted as an old one", name, data)
	}
}
