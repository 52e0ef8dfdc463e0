package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// events writes server-sent events. The loop over the messages and callbacks
// use it at the same time, and a callback may outlive the request.
type events struct {
	mu  sync.Mutex
	w   http.ResponseWriter
	end bool
}

func newEvents(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	return &events{w: w}
}

func (e *events) send(event string, v any) {
	data, err := json.Marshal(v) // one line
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil && !e.end {
		fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", event, data)
		_ = http.NewResponseController(e.w).Flush() // fails when the page is gone
	}
}

func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.end = true
}
