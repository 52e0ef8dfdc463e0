package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/history"
)

// Limits of one request.
const (
	maxPrompt = 1 << 20 // bytes
	maxTurn   = 10 * time.Minute
)

type service struct {
	login         func(*http.Request) (user string, ok bool)
	conversations *conversations
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /conversations", s.list)
	mux.HandleFunc("POST /conversations", s.prompt)
	mux.HandleFunc("POST /conversations/{id}", s.prompt)
	return mux
}

var userForm = regexp.MustCompile(`^[a-z0-9-]{1,64}$`) // it becomes the name of a folder

// user is who sent a request.
func (s *service) user(w http.ResponseWriter, r *http.Request) (user string, ok bool) {
	if user, ok = s.login(r); !ok || !userForm.MatchString(user) {
		http.Error(w, "sign in first", http.StatusUnauthorized)
		return "", false
	}
	return user, true
}

// prompt answers the prompt in the body. Without an id, it begins a
// conversation.
func (s *service) prompt(w http.ResponseWriter, r *http.Request) {
	user, ok := s.user(w, r)
	if !ok {
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPrompt))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxTurn)
	defer cancel()
	k := key{user, r.PathValue("id")}
	begin := k.id == ""
	if begin {
		k.id = newID()
	}
	res, err := s.conversations.ask(ctx, k, begin, string(text))
	if err != nil {
		fail(w, k, err)
		return
	}
	reply(w, map[string]any{"id": k.id, "text": res.Text, "cost": res.TotalCostUSD})
}

// list shows the newest conversations of the user, also those that are asleep.
func (s *service) list(w http.ResponseWriter, r *http.Request) {
	user, ok := s.user(w, r)
	if !ok {
		return
	}
	found := []map[string]any{}
	for info, err := range s.conversations.history(user).List(r.Context(), history.Query{Limit: 50}) {
		if err != nil {
			fail(w, key{user: user}, err)
			return
		}
		found = append(found, map[string]any{"id": info.ID, "title": info.Title, "modified": info.Modified})
	}
	reply(w, found)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // fails when the client is gone
}

// fail says what the user can do about an error. The rest is for the log.
func fail(w http.ResponseWriter, k key, err error) {
	status := http.StatusBadGateway
	switch {
	case errors.Is(err, errUnknown):
		status = http.StatusNotFound
	case errors.Is(err, claude.ErrBusy):
		status = http.StatusConflict
	case errors.Is(err, errFull), errors.Is(err, errClosing):
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "10")
	default:
		log.Printf("user %s, conversation %s: %v", k.user, k.id, err)
		err = errors.New("no answer this time; the conversation is kept")
	}
	http.Error(w, err.Error(), status)
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
