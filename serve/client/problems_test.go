package client_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
)

// problemTypes are the types of problems by their titles in the document of the API,
// written by hand.
var problemTypes = map[string]string{
	"The request cannot be understood":                                           "bad-request",
	"Log in first":                                                               "unauthorized",
	"Your role does not allow this":                                              "forbidden",
	"It does not exist, or you may not see it":                                   "not-found",
	"The request took too long to arrive":                                        "too-slow",
	"A CLI has the session open":                                                 "session-open",
	"A request with this Idempotency-Key is being worked on":                     "in-progress",
	"Another process runs the conversation":                                      "leased",
	"It was taken back before it began":                                          "taken-back",
	"Somebody else has decided":                                                  "already-decided",
	"The conversation has ended":                                                 "ended",
	"The conversation is at work":                                                "busy",
	"The conversation is being deleted":                                          "deleting",
	"The conversation is not doing anything":                                     "idle",
	"The conversation is stuck":                                                  "stuck",
	"The conversation of the session was deleted":                                "session-deleted",
	"The decision is about a different input from the one that the call has now": "changed",
	"The files cannot be restored to that point":                                 "no-checkpoint",
	"The prompt has begun":                                                       "begun",
	"The session is already a conversation":                                      "resumed",
	"The approval can no longer be decided":                                      "gone",
	"The conversation has changed in the meantime":                               "precondition",
	"The request is too large":                                                   "too-large",
	"The body must be application/json":                                          "media-type",
	"The Idempotency-Key was used for another request":                           "key-reused",
	"The directory is outside the preset's roots":                                "outside",
	"The preset does not allow this model":                                       "model-not-allowed",
	"The preset does not allow this permission mode":                             "mode-not-allowed",
	"The session cannot be continued here":                                       "session-unusable",
	"There is no such preset":                                                    "unknown-preset",
	"The budget is spent":                                                        "budget",
	"Too many attempts":                                                          "limited",
	"Too many prompts are waiting":                                               "full",
	"This server cannot do that":                                                 "unsupported",
	"The CLI could not be started, or failed":                                    "cli-failed",
	"The Claude Code CLI is not installed on the server":                         "cli-missing",
}

// documentedProblems returns the problems that the document has for a route, with every
// member that a problem may have.
func documentedProblems(t *testing.T, method, template string) (all []api.Problem) {
	t.Helper()
	document, err := os.ReadFile("../testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct{ Description string }
		}
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		t.Fatal(err)
	}
	for status, response := range doc.Paths[template][strings.ToLower(method)].Responses {
		code, err := strconv.Atoi(status)
		if err != nil {
			t.Fatal(err)
		}
		if code < 400 {
			continue
		}
		for title := range strings.SplitSeq(response.Description, "; or: ") {
			if problemTypes[title] == "" {
				t.Errorf("%s %s: %q is not in the table", method, template, title)
			}
			all = append(all, api.Problem{
				Type: "/problems/" + problemTypes[title], Title: title, Status: code, Detail: "do this", Instance: template,
				Errors:   []api.Fault{{Pointer: "/a/0", Detail: "too long"}, {Pointer: "", Detail: "odd"}},
				Approval: &api.Approval{ID: "q1", State: api.ApprovalDenied, DecidedBy: "bob"}, Successor: "q2", Conversation: "ada~2", Prompt: "p9", RetryAfter: 7,
			})
		}
	}
	return all
}

// templateOf returns the route of a method of the client.
func templateOf(w wireCall) string {
	path, _, _ := strings.Cut(w.address, "?")
	return strings.NewReplacer("/"+idInPath, "/{id}", "/prompts/p%2F1", "/prompts/{prompt}", "/prompts/p1", "/prompts/{prompt}").Replace(path)
}

// sameProblem reports whether an error is a problem, with every member.
func sameProblem(err error, want api.Problem) bool {
	got, ok := errors.AsType[*api.Problem](err)
	if !ok || got.Approval == nil || got.Approval.ID != "q1" || got.Approval.State != api.ApprovalDenied || got.Approval.DecidedBy != "bob" {
		return false
	}
	own := *got
	own.Approval, want.Approval = nil, nil // its lists are empty once, and missing once
	return reflect.DeepEqual(own, want)
}

// Each problem that the document has for the route of a method is its error, with every
// member. It comes at once: only a request that is still being worked on is repeated.
func TestEveryProblemOfEveryMethod(t *testing.T) {
	t.Parallel()
	used := make(map[string]bool)
	for name, w := range wire {
		problems := documentedProblems(t, w.method, templateOf(w))
		if len(problems) < 2 {
			t.Errorf("%s: the document has %d problems of %s %s", name, len(problems), w.method, templateOf(w))
		}
		for _, p := range problems {
			used[p.Title] = true
			synctest.Test(t, func(t *testing.T) {
				body, err := json.Marshal(p)
				if err != nil {
					t.Fatal(err)
				}
				c, r := scripted(t, always(says(p.Status, problemKind, string(body)), 100)...)
				begin := time.Now()
				got, err := w.call(t.Context(), c)
				if !sameProblem(err, p) {
					t.Errorf("%s: %#v\nwant %#v", name, err, p)
				}
				if got, ok := got.(string); ok && strings.TrimSpace(got) != "" {
					t.Errorf("%s: %q beside %v", name, got, err)
				}
				again := p.Type == "/problems/in-progress"
				if took := time.Since(begin); again != (len(r.asked) > 5) || again != (took > time.Minute) || !again && len(r.asked) != 1 {
					t.Errorf("%s: %v after %d attempts in %v", name, err, len(r.asked), took)
				}
			})
		}
	}
	for _, p := range documentedProblems(t, http.MethodGet, "/v1/conversations/{id}/events") {
		synctest.Test(t, func(t *testing.T) {
			body, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			c, r := scripted(t, says(p.Status, problemKind, string(body)))
			events, err := collect(c, 0)
			if !sameProblem(err, p) || len(events) > 0 || len(r.asked) != 1 {
				t.Errorf("Follow: %v after %q and %d attempts", err, events, len(r.asked))
			}
		})
	}
	for title := range problemTypes {
		if !used[title] && title != "Too many attempts" { // of logins and AG-UI, which a client does without
			t.Errorf("no method of the client has the problem %q", title)
		}
	}
}
