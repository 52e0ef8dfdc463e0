package serve

import (
	"io"
	"net/http"
	"time"
)

// How long the body of a request may take to arrive: before the server knows the user,
// and afterwards. A body that never ends would otherwise hold its connection for ever.
const (
	strangerBody = 10 * time.Second
	userBody     = 2 * time.Minute
)

// timedBody is a body that must arrive before a deadline. Once it has, the deadline is
// lifted, because the answer may be a stream.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	left    int64 // bytes still to come; negative: unknown
}

// timeBody gives the body of a request, if it has one, the short time of an unknown
// client.
func timeBody(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return
	}
	b := &timedBody{r.Body, http.NewResponseController(w), r.ContentLength}
	b.within(strangerBody)
	r.Body = b
}

// knownBody gives the body of a request more time, because its user is known.
func knownBody(r *http.Request) {
	if b, ok := r.Body.(*timedBody); ok && b.left != 0 {
		b.within(userBody)
	}
}

func (b *timedBody) within(d time.Duration) {
	_ = b.control.SetReadDeadline(time.Now().Add(d)) // a recorder in tests has no deadline
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
