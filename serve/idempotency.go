package serve

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/store"

	"github.com/claude-agent-go/claude/serve/internal/recordio"
)

// runOnce makes a request idempotent: if one with its key was run before, it repeats
// that answer. The ids of what a request creates are derived from the key, so even a
// request that was cut off by a crash creates nothing twice.
func (c *call) runOnce(key string, body []byte) error {
	if len(key) > 255 {
		return badRequest.because("an Idempotency-Key has at most 255 bytes")
	}
	c.key = key
	if strings.HasPrefix(c.route.path, oneConversation) {
		c.about = c.id()
	}
	records, ctx := c.service().opts.Records, c.ctx()
	at := store.RecordKey{Project: c.service().opts.Project, Kind: kindOnce, Name: "k" + digest(c.user.Name, key)}
	now, err := records.Now(ctx)
	if err != nil {
		return err
	}
	mine := idempotencyRecord{Request: digest(c.r.Method, c.r.URL.Path, string(body)), At: now}
	old, revision, err := recordio.Get[idempotencyRecord](ctx, records, at)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return err
	case now.Sub(old.At) > idempotencyLife:
	case old.Request != mine.Request:
		return keyReused.because("use a new key for a new request")
	case old.Deleted:
		return notFound.because("the request was answered, and its conversation has been deleted since")
	case old.Status != 0:
		return c.repeat(&old)
	case now.Sub(old.At) < idempotencyBusy:
		return c.busy()
	}
	revision, err = recordio.Put(ctx, records, at, &mine, revision)
	if errors.Is(err, store.ErrConflict) {
		return c.busy()
	}
	if err != nil {
		return err
	}
	return c.runAndKeep(at, mine, revision)
}

func (c *call) busy() error {
	p := busyKey.because("try again in a moment")
	p.RetryAfter = 1
	return p
}

// runAndKeep runs a request and keeps its answer if it succeeded. An error is not kept,
// because the next attempt may succeed.
func (c *call) runAndKeep(at store.RecordKey, mine idempotencyRecord, revision int64) error {
	out := c.w
	keep := &keeper{header: out.Header()}
	c.w = keep
	err := c.run()
	c.w = out
	ctx := context.WithoutCancel(c.ctx()) // the client may have left
	records := c.service().opts.Records
	if err != nil {
		_ = store.Drop(ctx, records, at, revision, store.Fence{}) // otherwise the key stays busy for a minute
		return err
	}
	mine.Status, mine.Body, mine.Header, mine.About = keep.status, keep.body.Bytes(), make(map[string]string), keyOf(c.about)
	for _, name := range []string{"Content-Type", "Location", "ETag"} {
		if v := out.Header().Get(name); v != "" {
			mine.Header[name] = v
		}
	}
	if _, err := recordio.Put(ctx, records, at, &mine, revision); err != nil {
		c.service().opts.Logger.Warn("serve: an answer was not kept for its Idempotency-Key", "error", err)
	}
	out.WriteHeader(keep.status)
	_, _ = out.Write(keep.body.Bytes())
	return nil
}

// repeat sends the answer that was kept.
func (c *call) repeat(old *idempotencyRecord) error {
	for name, v := range old.Header {
		c.w.Header().Set(name, v)
	}
	c.w.Header().Set("Idempotency-Replayed", strconv.FormatBool(true))
	c.w.WriteHeader(old.Status)
	_, _ = c.w.Write(old.Body)
	return nil
}

// keeper buffers an answer.
type keeper struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (k *keeper) Header() http.Header { return k.header }

// WriteHeader implements [http.ResponseWriter].
func (k *keeper) WriteHeader(status int) { k.status = status }

// Write implements [io.Writer].
func (k *keeper) Write(b []byte) (int, error) { return k.body.Write(b) }
