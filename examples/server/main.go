// Command server drives Claude for a web page: POST /ask streams a session as
// server-sent events, POST /approvals/TICKET answers what it asks for.
package main

import (
	"io"
	"log"
	"net/http"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

func main() {
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", newServer(nil)))
}

type server struct {
	cli       claude.Transport
	approvals approvals
}

func newServer(cli claude.Transport) http.Handler {
	s, mux := &server{cli: cli}, http.NewServeMux()
	mux.HandleFunc("POST /ask", s.ask)
	mux.HandleFunc("POST /approvals/{ticket}", s.approvals.answer)
	return http.NewCrossOriginProtection().Handler(mux) // other sites may not post here
}

// ask runs the prompt in the body. When the page goes away, the CLI ends.
func (s *server) ask(w http.ResponseWriter, r *http.Request) {
	prompt, ok := body(w, r)
	if !ok {
		return
	}
	out := newEvents(w)
	defer out.close()
	opts := &claude.Options{
		PartialMessages: true,
		CanUseTool:      s.approvals.asker(out),
		Transport:       s.cli,
	}
	for msg, err := range claude.Query(r.Context(), prompt, opts) {
		switch m := msg.(type) {
		case *message.StreamEvent:
			if text := m.Text(); text != "" {
				out.send("text", text)
			}
		case *message.Result:
			out.send("result", map[string]any{"text": m.Text, "cost": m.TotalCostUSD})
		}
		if err != nil {
			out.send("error", err.Error())
		}
	}
}

// body is the text that was posted, within reason.
func body(w http.ResponseWriter, r *http.Request) (text string, ok bool) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return string(data), err == nil
}
