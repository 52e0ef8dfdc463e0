//go:build unix

package natsfleet_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// The messages of a worker that compacts a transcript.
const (
	rewritesFirst = `^HPUB \S+\.t\.p\.\S+\.e .*Rewritten: 1/`
	rewritesLast  = `^HPUB \S+\.t\.p\.\S+\.e .*Modified: `
	marksArchived = `^HPUB \S+\.t\.p\.\S+\.e .*Archived: `
)

// archivePoints are the moments at which a worker that compacts and archives
// transcripts is killed.
var archivePoints = []struct {
	name string
	at   diePoint
}{
	{"about to write a transcript anew", diePoint{Before: rewritesFirst}},
	{"transcript half written anew", diePoint{Before: rewritesLast}},
	{"about to archive", diePoint{Call: "Acquire"}},
	{"leases taken, epoch not begun", diePoint{Call: "Acquire", After: true}},
	{"nothing in the archive yet", diePoint{Call: "Append"}},
	{"in the archive, the stream does not know", diePoint{Call: "Append", After: true}},
	{"stream about to know", diePoint{Before: marksArchived}},
	{"stream half told", diePoint{Before: marksArchived, Times: 1}},
	{"archived, both leases held", diePoint{Call: "Release"}},
	{"archived, lease held in the stream", diePoint{Call: "Release", After: true}},
}

// A worker is killed at each point. Another one answers what it has left and what
// comes then, once and in order, with all that was said before.
func TestWorkerDiesArchiving(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, 4)
	for i, p := range archivePoints {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(p.name, func(t *testing.T) {
				dieAt(t, c.URL(), fmt.Sprint("archive-", i), beside{Archive: t.TempDir(), After: 100 * time.Millisecond}, p.at, false)
			})
		})
	}
}
