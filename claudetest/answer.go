package claudetest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Default chunking: enough pieces to look like a stream, few enough that a
// text of many megabytes does not become a flood of events.
const (
	maxPieces    = 64 // about: pieces end at whole characters
	minPieceSize = 16
)

// answer sends one reply to one call.
type answer struct {
	ctx   context.Context
	w     http.ResponseWriter
	call  *ModelCall
	reply Reply
	id    string // of the message

	pieces int // of the whole content
	sent   int // pieces so far
}

func (a *answer) serve() {
	if !pause(a.ctx, a.reply.delay) {
		return
	}
	maps.Copy(a.w.Header(), a.reply.header)
	a.w.Header().Set("Request-Id", "req_"+a.id)
	switch {
	case a.reply.failure != nil && a.reply.ending == endsWhole:
		writeError(a.w, a.reply.failure)
	case a.call.Stream:
		a.stream()
	default:
		a.whole()
	}
}

// whole answers a call that did not ask for a stream.
func (a *answer) whole() {
	if !a.held() {
		return
	}
	switch a.reply.ending {
	case endsCut:
		panic(http.ErrAbortHandler) // the documented way to break a connection
	case endsInError:
		writeError(a.w, a.reply.failure)
		return
	}
	m := a.envelope()
	for _, b := range a.reply.blocks {
		m.Content = append(m.Content, b.encode(true))
	}
	m.StopReason = new(a.reply.stop())
	writeJSON(a.w, http.StatusOK, m)
}

// stream answers with server-sent events, in the order of the API:
// message_start, then per block start, deltas and stop, then message_delta
// and message_stop.
func (a *answer) stream() {
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.Header().Set("Cache-Control", "no-cache")
	for _, b := range a.reply.blocks {
		a.pieces += len(a.split(b.payload()))
	}
	ok := a.event(messageStart{"message_start", a.envelope()})
	if ok && a.pieces == 0 {
		ok = a.middle()
	}
	for i, b := range a.reply.blocks {
		if !ok || !a.block(i, b) {
			return
		}
	}
	delta := messageDelta{Type: "message_delta", Usage: a.usage()}
	delta.Delta.StopReason = a.reply.stop()
	_ = ok && a.event(delta) && a.event(bareEvent{"message_stop"})
}

// block streams one content block and reports whether to continue.
func (a *answer) block(index int, b block) bool {
	if !a.event(blockStart{"content_block_start", index, b.encode(false)}) {
		return false
	}
	for _, piece := range a.split(b.payload()) {
		if !a.event(blockDelta{"content_block_delta", index, b.delta(piece)}) {
			return false
		}
		a.sent++
		if a.sent == (a.pieces+1)/2 && !a.middle() {
			return false
		}
		if !pause(a.ctx, a.reply.chunkDelay) {
			return false
		}
	}
	if b.kind == kindThinking {
		// A thinking block is not accepted without a signature. Any will do.
		if !a.event(blockDelta{"content_block_delta", index, map[string]string{"type": "signature_delta", "signature": "c2lnbmVk"}}) {
			return false
		}
	}
	return a.event(blockStop{"content_block_stop", index})
}

// middle is reached when half of the content is sent: here a reply is held,
// cut or ended with an error.
func (a *answer) middle() bool {
	if !a.held() {
		return false
	}
	switch a.reply.ending {
	case endsCut:
		panic(http.ErrAbortHandler)
	case endsInError:
		a.event(newErrorBody(a.reply.failure))
		return false
	}
	return true
}

// held waits for the reply's release and reports whether the client is still
// there.
func (a *answer) held() bool {
	if !a.reply.holds {
		return true
	}
	select {
	case <-a.reply.hold:
		return true
	case <-a.ctx.Done():
		return false
	}
}

// event sends one server-sent event at once.
func (a *answer) event(e event) bool {
	data, err := jsonx.Marshal(e)
	if err != nil {
		return false
	}
	if _, err := fmt.Fprintf(a.w, "event: %s\ndata: %s\n\n", e.name(), data); err != nil {
		return false
	}
	return http.NewResponseController(a.w).Flush() == nil && a.ctx.Err() == nil
}

// envelope is the message without content.
func (a *answer) envelope() *apiMessage {
	return &apiMessage{
		ID: a.id, Type: "message", Role: "assistant", Model: a.call.Model,
		Content: []any{}, Usage: a.usage(),
	}
}

func (a *answer) usage() ReplyUsage {
	if a.reply.usage == (ReplyUsage{}) {
		return defaultUsage
	}
	return a.reply.usage
}

// split cuts a text into pieces, never inside a character.
func (a *answer) split(text string) []string {
	size := a.reply.chunkSize
	if size <= 0 {
		size = max(minPieceSize, (len(text)+maxPieces-1)/maxPieces)
	}
	var pieces []string
	for len(text) > size {
		n := size
		for n > 1 && !utf8.RuneStart(text[n]) {
			n--
		}
		for n < len(text) && !utf8.RuneStart(text[n]) { // size below one character
			n++
		}
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	if text != "" {
		pieces = append(pieces, text)
	}
	return pieces
}

// pause waits for d and reports whether the client is still there.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// payload is the part of the block that is streamed in pieces.
func (b block) payload() string {
	if b.kind == kindToolUse {
		return string(b.input)
	}
	return b.text
}

// encode returns the block as announced (empty) or as answered in full.
func (b block) encode(full bool) any {
	switch b.kind {
	case kindThinking:
		t := thinkingBlock{Type: b.kind}
		if full {
			t.Thinking, t.Signature = b.text, "c2lnbmVk"
		}
		return t
	case kindToolUse:
		t := toolUseBlock{b.kind, b.id, b.name, json.RawMessage("{}")}
		if full {
			t.Input = b.input
		}
		return t
	}
	t := textBlock{Type: b.kind}
	if full {
		t.Text = b.text
	}
	return t
}

func (b block) delta(piece string) map[string]string {
	switch b.kind {
	case kindThinking:
		return map[string]string{"type": "thinking_delta", "thinking": piece}
	case kindToolUse:
		return map[string]string{"type": "input_json_delta", "partial_json": piece}
	}
	return map[string]string{"type": "text_delta", "text": piece}
}
