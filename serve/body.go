package serve

import (
	"io"
	"net/http"
	"time"
)

// How long the body of a request may take: until the server knows whose it is, and from
// then on. A body that never ends would otherwise keep its connection for nothing.
const (
	strangerBody = 10 * time.Second
	userBody     = 2 * time.Minute
)

// timedBody is a body that must arrive in time. When it has, the deadline is gone: the
// answer may be a stream.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	left    int64 // bytes, if their number is known; negative: until its end
}

// timeBody gives the body of a request, if it has one, the time of a stranger's.
func timeBody(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return
	}
	b := &timedBody{r.Body, http.NewResponseController(w), r.ContentLength}
	b.within(strangerBody)
	r.Body = b
}

// knownBody gives the body of a request more time: it is a user's.
func knownBody(r *http.Request) {
	if b, ok := r.Body.(*timedBody); ok && b.left != 0 {
		b.within(userBody)
	}
}

func (b *timedBody) within(d time.Duration) {
	_ = b.control.SetReadDeadline(time.Now().Add(d)) // a recorder in tests has none
}

// Read implements [io.Reader].
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	if err == io.EOF {
		b.left = 0
	}
	if b.left == 0 {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
