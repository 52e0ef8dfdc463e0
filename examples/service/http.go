package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

type service struct {
	login func(*http.Request) (user string, ok bool)
	fleet *fleet.Fleet
}

// client is the user who sent a request. Each user is a tenant of the fleet, so
// no user reaches the conversations and questions of another.
type client struct {
	fleet.Conversations
	user string
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	for route, do := range map[string]func(client, http.ResponseWriter, *http.Request) error{
		"POST /conversations/{name}/prompts":     client.send,
		"GET /conversations/{name}/prompts/{id}": client.ticket,
		"GET /conversations/{name}/events":       client.follow,
		"GET /conversations":                     client.list,
		"GET /questions":                         client.questions,
		"POST /questions/{id}":                   client.decide,
	} {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
			user, ok := s.login(r)
			if !ok || !userForm.MatchString(user) {
				http.Error(w, "sign in first", http.StatusUnauthorized)
			} else if err := do(client{s.fleet.Tenant(user), user}, w, r); err != nil {
				fail(w, user, err)
			}
		})
	}
	return mux
}

var userForm = regexp.MustCompile(`^[a-z0-9-]{1,64}$`) // it becomes the name of a folder

func (c client) key(r *http.Request) string { return c.user + "/" + r.PathValue("name") }

const maxBody = 1 << 20 // bytes

// send accepts a prompt. Once the client has read the reply, the prompt is
// answered, whatever happens to this program.
func (c client) send(w http.ResponseWriter, r *http.Request) error {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	id, err := c.Send(r.Context(), c.key(r), fleet.Prompt{ID: fleet.PromptID(r.Header.Get("Idempotency-Key")), Text: string(text)})
	if err != nil {
		return err
	}
	return reply(w, http.StatusAccepted, map[string]string{"prompt": id})
}

func (c client) ticket(w http.ResponseWriter, r *http.Request) error {
	t, err := c.Prompt(r.Context(), c.key(r), r.PathValue("id"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, map[string]any{"status": t.Status, "text": t.Text, "question": t.Question, "error": t.Error})
}

// follow sends the conversation so far and its live text as server-sent events. A
// browser that reconnects names the last event it has seen by itself.
func (c client) follow(w http.ResponseWriter, r *http.Request) error {
	if _, err := c.Get(r.Context(), c.key(r)); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for e, err := range c.Events(r.Context(), c.key(r), fleet.Cursor(r.Header.Get("Last-Event-ID"))) {
		if err != nil {
			return nil // the client is gone, or will reconnect
		}
		line, err := json.Marshal(e.Message)
		if err != nil {
			return nil
		}
		if !e.Live { // a place to come back to
			fmt.Fprintf(w, "id: %s\n", e.Cursor)
		}
		fmt.Fprintf(w, "data: %s\n\n", line)
		_ = http.NewResponseController(w).Flush() // fails when the client is gone
	}
	return nil
}

func (c client) list(w http.ResponseWriter, r *http.Request) error {
	found := []map[string]any{}
	for info, err := range c.List(r.Context()) {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(info.Key, c.user+"/")
		found = append(found, map[string]any{"name": name, "state": info.State, "cost": info.Cost.USD})
	}
	return reply(w, http.StatusOK, found)
}

func reply(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails when the client is gone
	return nil
}

// statuses are the replies to errors that the user can do something about.
var statuses = []struct {
	err    error
	status int
}{
	{store.ErrInvalid, http.StatusBadRequest}, {approval.ErrInvalid, http.StatusBadRequest},
	{store.ErrNotFound, http.StatusNotFound}, {fleet.ErrUnknown, http.StatusNotFound}, {fleet.ErrForeign, http.StatusNotFound},
	{approval.ErrChanged, http.StatusConflict}, {approval.ErrGone, http.StatusGone}, {fleet.ErrStuck, http.StatusConflict},
	{fleet.ErrOverloaded, http.StatusServiceUnavailable}, {fleet.ErrClosed, http.StatusServiceUnavailable},
}

// fail reports an error to the user. Errors that the user cannot fix go to the
// log.
func fail(w http.ResponseWriter, user string, err error) {
	if full, ok := errors.AsType[*fleet.OverloadedError](err); ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(full.Wait.Seconds())))
	}
	for _, known := range statuses {
		if errors.Is(err, known.err) {
			http.Error(w, err.Error(), known.status)
			return
		}
	}
	log.Printf("user %s: %v", user, err)
	http.Error(w, "this did not work; try it again", http.StatusInternalServerError)
}

// byToken knows users by bearer tokens, from a list such as
// "ada:secret,bob:another". Replace it by your own authentication.
func byToken(list string) func(*http.Request) (string, bool) {
	users := make(map[[sha256.Size]byte]string)
	for entry := range strings.SplitSeq(list, ",") {
		if user, token, ok := strings.Cut(entry, ":"); ok && token != "" {
			users[sha256.Sum256([]byte(token))] = user
		}
	}
	return func(r *http.Request) (string, bool) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		user, ok := users[sha256.Sum256([]byte(token))]
		return user, ok
	}
}
