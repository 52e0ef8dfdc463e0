package serve

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
)

// silence is a source without events.
func silence(ctx context.Context) iter.Seq[eventlog.Event] {
	return func(func(eventlog.Event) bool) { <-ctx.Done() }
}

// A quiet stream sends a ping every ten seconds, as an event, because browsers do not
// pass comments to a page. A reader cannot resume at a ping.
func TestPing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 35*time.Second)
		defer cancel()
		w := httptest.NewRecorder()
		st := &stream{w: w, control: http.NewResponseController(w)}
		begin := time.Now()
		st.merge(ctx, []iter.Seq[eventlog.Event]{silence(ctx)})
		if took := time.Since(begin); took != 35*time.Second {
			t.Errorf("the stream ended after %v", took)
		}
		got := w.Body.String()
		if strings.Count(got, "event: ping\ndata: {") != 3 || strings.Contains(got, "id:") {
			t.Errorf("in 35 seconds came\n%s", got)
		}
	})
}

// stuck is a connection whose other side takes nothing: a write lasts until its
// deadline.
type stuck struct {
	http.ResponseWriter
	deadline time.Time
}

func (w *stuck) SetWriteDeadline(at time.Time) error { w.deadline = at; return nil }

func (w *stuck) Write([]byte) (int, error) {
	if w.deadline.IsZero() {
		select {} // forever
	}
	<-time.After(time.Until(w.deadline))
	return 0, os.ErrDeadlineExceeded
}

// A reader that takes nothing is dropped after ten seconds, and what was read
// for it ends with it.
func TestStuckReaderIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &stuck{ResponseWriter: httptest.NewRecorder()}
		st := &stream{w: w, control: http.NewResponseController(w)}
		ended := false
		begin := time.Now()
		st.merge(t.Context(), []iter.Seq[eventlog.Event]{func(yield func(eventlog.Event) bool) {
			for yield(eventlog.Event{Event: api.Event{Type: api.EventNotice, Seq: 1}}) {
			}
			ended = true
		}})
		if took := time.Since(begin); took != writeWait {
			t.Errorf("the stream ended after %v", took)
		}
		if !ended {
			t.Error("its source continues")
		}
	})
}
