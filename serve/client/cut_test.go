package client_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/client"
)

// cutStreams is a transport in memory. It serves the recording after the number that a
// request asks for, cut after so many bytes, by the number of the connection; negative is
// never. An odd connection ends as if the server had hung up, an even one with an error.
type cutStreams struct {
	limit func(connection int) int
	asked []string
}

func (s *cutStreams) RoundTrip(req *http.Request) (*http.Response, error) {
	n := len(s.asked)
	s.asked = append(s.asked, req.URL.Query().Get("after"))
	after, err := strconv.Atoi(s.asked[n])
	if err != nil || after < 0 || after > len(recorded) {
		return nil, errors.New("the place is not one of the stream")
	}
	body := streamed(after)
	if cut := s.limit(n); cut >= 0 && cut < len(body) {
		var end io.Reader = failing{}
		if n%2 == 1 {
			end = strings.NewReader("")
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {stream}}, Body: io.NopCloser(io.MultiReader(strings.NewReader(body[:cut]), end))}, nil
	}
	return silent(body)(req)
}

// whole returns the events of the recording, as JSON, in order.
func whole(t *testing.T) (all []string) {
	t.Helper()
	for _, frame := range recorded {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(frame, "event: "), "\n")
		_, data, _ := strings.Cut(rest, "data: ")
		e := api.Event{Type: api.EventType(kind)}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, kind+" "+asJSON(t, e))
	}
	return all
}

func asJSON(t *testing.T, e api.Event) string {
	t.Helper()
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A stream may be cut after any byte, once or on every connection, and a follower may
// begin after any event: each event comes whole, once and in order, and the end of what is
// stored comes once, after them.
func TestFollowEveryCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := whole(t)
		follow := func(what string, cut, after int, limit func(int) int) {
			s := &cutStreams{limit: limit}
			c, err := client.New(client.Options{URL: "https://agents.example", Token: secret, HTTP: &http.Client{Transport: s}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for e, err := range c.Follow(t.Context(), "ada~1", int64(after)) {
				if err != nil {
					t.Fatalf("%s after %d bytes, from event %d: %q, then %v", what, cut, after, got, err)
				}
				if e.Type == api.EventSynced {
					break
				}
				got = append(got, string(e.Type)+" "+asJSON(t, e))
			}
			if !slices.Equal(got, all[after:]) {
				t.Fatalf("%s after %d bytes, from event %d: %q\nwant %q", what, cut, after, got, all[after:])
			}
			if last := s.asked[len(s.asked)-1]; len(s.asked) > 1 && last == strconv.Itoa(after) && cut > len(retryFrame)+len(recorded[after]) {
				t.Fatalf("%s after %d bytes, from event %d: asked for what comes after %q", what, cut, after, s.asked)
			}
		}
		for after := range recorded {
			once := 1
			if after > 0 {
				once = 7
			}
			for cut := 0; cut <= len(streamed(after)); cut += once {
				follow("cut once", cut, after, func(n int) int { return map[bool]int{true: cut, false: -1}[n == 0] })
			}
		}
		longest := 0
		for _, frame := range recorded {
			longest = max(longest, len(frame))
		}
		// Every connection brings at least one event.
		for cut := len(retryFrame) + longest; cut <= len(streamed(0)); cut += 3 {
			follow("each cut", cut, 0, func(int) int { return cut })
		}
	})
}

// After the end of what is stored, a cut at any byte of what happens next loses nothing
// and repeats nothing, not even that end.
func TestFollowCutWhileItHappens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := whole(t)
		// Two events are stored; the others happen while the stream is open.
		live := strings.Join(recorded[2:], "") + pingFrame
		for cut := range len(live) {
			c, r := scripted(t,
				says(http.StatusOK, stream, recorded[0]+recorded[1]+syncedFrame+live[:cut]),
				func(req *http.Request) (*http.Response, error) {
					after, err := strconv.Atoi(req.URL.Query().Get("after"))
					if err != nil {
						return nil, err
					}
					return silent(streamed(after))(req)
				})
			var got []string
			synced := 0
			for e, err := range c.Follow(t.Context(), "ada~1", 0) {
				if err != nil {
					t.Fatalf("cut after %d bytes: %q, then %v", cut, got, err)
				}
				if e.Type == api.EventSynced {
					synced++
					continue
				}
				if got = append(got, string(e.Type)+" "+asJSON(t, e)); len(got) == len(all) {
					break
				}
			}
			if !slices.Equal(got, all) || synced != 1 || len(r.asked) > 2 {
				t.Fatalf("cut after %d bytes: %q, synced %d times, by %d requests", cut, got, synced, len(r.asked))
			}
		}
	})
}
