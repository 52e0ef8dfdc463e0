package natsfleet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// Errors of [OpenStore], [Connect] and [Store], to be found with [errors.Is].
var (
	// ErrOldServer means that the server lacks a feature that a fleet needs.
	ErrOldServer = errors.New("the server is too old")
	// ErrForeignStream means that the server has a stream of that name that
	// another version made, or that does not belong to a fleet.
	ErrForeignStream = errors.New("the stream was not made by this version")
	// ErrOtherTranscripts means that the transcripts of the fleet are not in
	// Options.Transcripts.
	ErrOtherTranscripts = errors.New("the transcripts are not there")
	// ErrRefused means that the server does not accept the credentials, or that they
	// do not allow what a fleet needs. They may have expired or been revoked since the
	// connection was made: it is made again as soon as they are accepted.
	ErrRefused = errors.New("the server does not accept the credentials")
	// ErrTooLarge means that a write is larger than the server can store at once:
	// a thousand messages of max_payload. Nothing of it was stored.
	ErrTooLarge = errors.New("too large for the server")
	// ErrFull means that the stream, its account or the server has no room for a
	// write. Nothing was stored, and nothing old is lost.
	ErrFull = errors.New("the stream is full")
)

// errMoved means that the last message of a subject is not the one that was
// expected.
var errMoved = errors.New("another message was stored in the meantime")

// errStale means that the answering replica lags behind writes that are known
// to be stored.
var errStale = errors.New("the server that answered is behind the others")

// errGap means that a part of an answer did not arrive.
var errGap = errors.New("a part of the server's answer was lost")

// errBroken means that the connection broke before an answer came. The request may have
// taken effect.
var errBroken = errors.New("the connection broke before the answer came")

// fail prefixes an error with its origin, once.
func fail(what any, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("claude: natsfleet: %v: %w", what, err)
}

// apiError is the server's answer if it refuses a request.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string { return fmt.Sprintf("%s (%d)", e.Description, e.ErrCode) }

// The errors of the server that matter here.
const (
	codeMoved        = 10071
	codeInFlight     = 10164 // another write with the same expectation is in flight
	codeNotFound     = 10037
	codeNoSequence   = 10043
	codeBatchCut     = 10176 // a leader saw only a part of the batch
	codeManyBatches  = 10210
	codeNotStored    = 10077 // for several reasons, one of them that the stream is full
	codeAccountFull  = 10002
	codeServerFull   = 10023
	codeOverlap      = 10065 // another stream has the subjects
	statusNotFound   = "404"
	statusEnd        = "204"
	statusMany       = "413"
	statusNoResponse = "503"
)

// full reports whether the stream has no room left. The server has no code for
// a full stream, only one for every reason not to store a message, so the text
// decides.
func (e *apiError) full() bool {
	switch e.ErrCode {
	case codeAccountFull, codeServerFull:
		return true
	}
	return e.ErrCode == codeNotStored && strings.HasPrefix(e.Description, "maximum ")
}

// refused reports whether the server has answered that it stored nothing.
func refused(err error) bool {
	_, answered := errors.AsType[*apiError](err)
	return answered || errors.Is(err, errMoved) || errors.Is(err, nats.ErrNoResponders)
}

// passes reports whether an error may go away by itself: the server cannot be
// reached, is electing a leader, or is busy with a write that has the same
// condition.
func passes(err error) bool {
	if e, ok := errors.AsType[*apiError](err); ok {
		return !e.full() && (e.ErrCode == codeInFlight || e.ErrCode == codeBatchCut || e.ErrCode == codeManyBatches || e.Code == 503)
	}
	for _, other := range []error{
		nats.ErrNoResponders, nats.ErrTimeout, nats.ErrDisconnected, nats.ErrReconnectBufExceeded, nats.ErrConnectionReconnecting,
		nats.ErrStaleConnection, context.DeadlineExceeded, errStale, errGap, errBroken,
	} {
		if errors.Is(err, other) {
			return true
		}
	}
	return false
}
