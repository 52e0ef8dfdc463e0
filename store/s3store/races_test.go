package s3store_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/s3store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// s3server is a server in this process that can do something before a request of
// one client, or lose the reply to it.
type s3server struct {
	handler http.Handler
	url     string

	mu     sync.Mutex
	count  int // requests of the slow client
	before int // what to do before which of them
	do     func()
	lose   int // the reply to which of its writes is lost
	writes int
	wish   func(*http.Request) // looks at every request

	behind atomic.Int64 // how far the times of objects lie behind
}

// Now makes the server the source of the times of its objects.
func (s *s3server) Now() time.Time { return time.Now().Add(-time.Duration(s.behind.Load())) }

// Since is the rest of that source.
func (s *s3server) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

func newServer(t testing.TB) *s3server {
	t.Helper()
	s := new(s3server)
	backend := s3mem.New(s3mem.WithTimeSource(s))
	if err := backend.CreateBucket("agents"); err != nil {
		t.Fatal(err)
	}
	s.handler = gofakes3.New(backend, gofakes3.WithLogger(gofakes3.StdLog(log.New(io.Discard, "", 0)))).Server()
	srv := httptest.NewUnstartedServer(s)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// ServeHTTP serves a request.
func (s *s3server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.wish != nil {
		s.wish(r)
	}
	if r.Header.Get("X-Client") != "slow" {
		s.handler.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	s.count++
	do := s.do
	if s.count != s.before {
		do = nil
	}
	if r.Method == http.MethodPut {
		s.writes++
	}
	lost := r.Method == http.MethodPut && s.writes == s.lose
	s.mu.Unlock()
	if do != nil {
		do()
	}
	if lost {
		s.handler.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	s.handler.ServeHTTP(w, r)
}

type slowTransport struct{}

func (slowTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("X-Client", "slow")
	return http.DefaultTransport.RoundTrip(r)
}

// client returns a client of the server.
func (s *s3server) client(slow bool) *s3.Client {
	o := s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(s.url), UsePathStyle: true,
		Credentials:                credentials.NewStaticCredentialsProvider("key", "secret", ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Millisecond, nil })
		}),
	}
	if slow {
		o.HTTPClient = &http.Client{Transport: slowTransport{}}
	}
	return s3.New(o)
}

// stores returns two stores in the bucket, one of them slow. Both have written
// once, so that the server was probed.
func (s *s3server) stores(t *testing.T) (slow, quick *s3store.Store) {
	t.Helper()
	slow, quick = s3store.New(s.client(true), "agents", ""), s3store.New(s.client(false), "agents", "")
	for _, st := range []*s3store.Store{slow, quick} {
		add(t, st, key(999), "", `{"type":"tag"}`)
	}
	s.count, s.writes = 0, 0
	return slow, quick
}

// step is one moment in the life of a call: before one of its requests.
type step struct {
	*s3server
	t           *testing.T
	slow, quick *s3store.Store
	k, sub      store.Key
}

// everywhere runs a call on the slow store, again and again, each time with
// something else that happens before another one of its requests.
func everywhere(t *testing.T, prepare func(*step), call func(*step) error, meanwhile func(*step), check func(s *step, err error)) {
	t.Helper()
	for n := 1; ; n++ {
		srv := newServer(t)
		s := &step{s3server: srv, t: t, k: key(1), sub: key(1)}
		s.sub.Sub = "subagents/agent-1"
		s.slow, s.quick = srv.stores(t)
		if prepare != nil {
			prepare(s)
		}
		happened := false
		srv.mu.Lock()
		srv.count, srv.before, srv.do = 0, n, func() { happened = true; meanwhile(s) }
		srv.mu.Unlock()
		err := call(s)
		if !happened {
			if n < 3 {
				t.Fatalf("the call made %d requests: the test shows nothing", n-1)
			}
			return
		}
		t.Logf("before request %d: %v", n, err)
		check(s, err)
		if t.Failed() {
			t.Fatalf("before request %d", n)
		}
	}
}

// entries returns the uuids of a transcript, or the error.
func (s *step) entries(k store.Key) string {
	var out []string
	for e, err := range store.Entries(s.t.Context(), s3store.New(s.client(false), "agents", ""), k) {
		if err != nil {
			if errors.Is(err, store.ErrNotFound) {
				return "none"
			}
			return err.Error()
		}
		out = append(out, e.UUID())
	}
	return strings.Join(out, " ")
}

func entry(id string) store.Batch {
	return store.Batch{ID: "b" + id, Entries: []store.Entry{store.Entry(fmt.Sprintf(`{"uuid":%q}`, id))}}
}

func (s *step) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// fill appends some batches to both transcripts.
func (s *step) fill() {
	for _, k := range []store.Key{s.k, s.sub} {
		for _, id := range []string{"1", "2", "3"} {
			s.must(s.slow.Append(s.t.Context(), k, entry(id)))
		}
	}
}

// Whatever others do in the middle of an append, nothing is lost, doubled, damaged
// or brought back.
func TestAppendBeside(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		meanwhile func(*step)
		main, sub []string // one of them
		errs      []error
	}{
		"append": {func(s *step) {
			s.must(s.quick.Append(ctx, s.k, entry("5")))
			s.must(s.quick.Append(ctx, s.sub, entry("5")))
		}, []string{"1 2 3 5 4", "1 2 3 4 5"}, []string{"1 2 3 5 4", "1 2 3 4 5"}, []error{nil}},
		"append of the same": {func(s *step) {
			s.must(s.quick.Append(ctx, s.k, entry("4")))
			s.must(s.quick.Append(ctx, s.sub, entry("4")))
		}, []string{"1 2 3 4"}, []string{"1 2 3 4"}, []error{nil}},
		"compact": {func(s *step) {
			s.must(s.quick.Compact(ctx, s.k))
			s.must(s.quick.Compact(ctx, s.sub))
		}, []string{"1 2 3 4"}, []string{"1 2 3 4"}, []error{nil}},
		"delete": {func(s *step) { s.must(s.quick.Delete(ctx, s.k, store.Fence{})) }, []string{"none"}, []string{"none"}, []error{nil, store.ErrDeleted}},
		"delete of the sub-agent": {func(s *step) { s.must(s.quick.Delete(ctx, s.sub, store.Fence{})) },
			[]string{"1 2 3 4"}, []string{"none", "4"}, []error{nil}},
		"delete of the sub-agent, which comes back": {func(s *step) {
			s.must(s.quick.Delete(ctx, s.sub, store.Fence{}))
			s.must(s.quick.Append(ctx, s.sub, entry("6")))
		}, []string{"1 2 3 4"}, []string{"6", "6 4"}, []error{nil}},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, (*step).fill, func(s *step) error {
				err := s.slow.Append(ctx, s.sub, entry("4"))
				if err != nil {
					return err
				}
				return s.slow.Append(ctx, s.k, entry("4"))
			}, c.meanwhile, func(s *step, err error) {
				if !slices.ContainsFunc(c.errs, func(want error) bool { return errors.Is(err, want) }) {
					t.Errorf("Append = %v", err)
				}
				if got := s.entries(s.k); !slices.Contains(c.main, got) {
					t.Errorf("the session has %q", got)
				}
				if got := s.entries(s.sub); !slices.Contains(c.sub, got) {
					t.Errorf("the sub-agent has %q", got)
				}
				s.lists(c.main[0] != "none")
			})
		})
	}
}

// lists wants the session to be listed, with the fold of what it has, or not.
func (s *step) lists(there bool) {
	s.t.Helper()
	found, listed := false, false
	for item, err := range s.quick.List(s.t.Context(), "p") {
		s.must(err)
		listed = listed || item.Session == s.k.Session
	}
	for sum, err := range s.quick.List(s.t.Context(), "p") {
		s.must(err)
		if sum.Session != s.k.Session {
			continue
		}
		found = true
		var all []store.Entry
		for e, err := range store.Entries(s.t.Context(), s.quick, s.k) {
			s.must(err)
			all = append(all, e)
		}
		if want := storeimpl.Fold(nil, all...); string(sum.Data) != string(want) {
			s.t.Errorf("the summary is %s, want %s", sum.Data, want)
		}
	}
	if found != there || listed != there {
		s.t.Errorf("listed: %v, with a summary: %v; want %v", listed, found, there)
	}
}

// The same for compaction and deletion.
func TestCompactBeside(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		meanwhile func(*step)
		want      string
	}{
		"append":        {func(s *step) { s.must(s.quick.Append(ctx, s.sub, entry("4"))) }, "1 2 3 4"},
		"compact":       {func(s *step) { s.must(s.quick.Compact(ctx, s.sub)) }, "1 2 3"},
		"delete":        {func(s *step) { s.must(s.quick.Delete(ctx, s.sub, store.Fence{})) }, "none"},
		"delete of all": {func(s *step) { s.must(s.quick.Delete(ctx, s.k, store.Fence{})) }, "none"},
		"append and compact": {func(s *step) {
			s.must(s.quick.Append(ctx, s.sub, entry("4")))
			s.must(s.quick.Compact(ctx, s.sub))
		}, "1 2 3 4"},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, (*step).fill, func(s *step) error { return s.slow.Compact(ctx, s.sub) }, c.meanwhile, func(s *step, err error) {
				s.must(err)
				if got := s.entries(s.sub); got != c.want {
					t.Errorf("there is %q, want %q", got, c.want)
				}
				s.must(s.quick.Delete(ctx, s.k, store.Fence{}))
				if left := s.objects("p/parts/" + s.k.Session); len(left) != 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		})
	}
}

// objects returns the names of objects that begin so.
func (s *step) objects(prefix string) (names []string) {
	out, err := s.client(false).ListObjectsV2(s.t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("agents"), Prefix: &prefix})
	s.must(err)
	for _, o := range out.Contents {
		names = append(names, *o.Key)
	}
	return names
}

func TestDeleteBeside(t *testing.T) {
	ctx := t.Context()
	everywhere(t, (*step).fill, func(s *step) error { return s.slow.Delete(ctx, s.sub, store.Fence{}) },
		func(s *step) { s.must(s.quick.Append(ctx, s.sub, entry("4"))) },
		func(s *step, err error) {
			s.must(err)
			if got := s.entries(s.sub); got != "none" && got != "4" {
				t.Errorf("there is %q", got)
			}
			s.must(s.quick.Append(ctx, s.sub, entry("5")))
			if got := s.entries(s.sub); got != "5" && got != "4 5" {
				t.Errorf("then there is %q", got)
			}
		})
}

// An owner is stopped before any of its requests, and another takes its place. From
// when the new owner has the lease, nothing of the old one appears.
func TestOwnerStopsAnywhere(t *testing.T) {
	ctx := t.Context()
	state := func(s *step) string { return s.entries(s.k) + " | " + s.entries(s.sub) }
	for name, call := range map[string]func(*step, store.Fence) error{
		"append": func(s *step, f store.Fence) error {
			b := entry("new")
			b.Fence = f
			return s.slow.Append(ctx, s.k, b)
		},
		"append to a new transcript": func(s *step, f store.Fence) error {
			b := entry("new")
			b.Fence = f
			return s.slow.Append(ctx, s.sub, b)
		},
		"delete": func(s *step, f store.Fence) error { return s.slow.Delete(ctx, s.sub, f) },
	} {
		for how, end := range map[string]func(*step, store.Lease){
			"given back": func(s *step, l store.Lease) { s.must(s.quick.Release(ctx, l)) },
			"expired":    (*step).expire,
		} {
			t.Run(name+", lease "+how, func(t *testing.T) {
				leases := make(map[*step]store.Lease)
				seen := make(map[*step]string)
				everywhere(t, func(s *step) {
					if s.fill(); name == "append to a new transcript" {
						s.sub.Sub = "subagents/agent-2"
					}
					l, err := s.slow.Acquire(ctx, "p", "c", "old", time.Minute)
					s.must(err)
					leases[s] = l
				}, func(s *step) error { return call(s, leases[s].Fence) }, func(s *step) {
					end(s, leases[s])
					_, err := s.quick.Acquire(ctx, "p", "c", "new", time.Minute)
					s.must(err)
					seen[s] = state(s)
				}, func(s *step, err error) {
					if err != nil && !errors.Is(err, store.ErrLeaseLost) {
						t.Errorf("%v", err)
					}
					if now := state(s); now != seen[s] {
						t.Errorf("the new owner saw %s, now it is %s", seen[s], now)
					}
					if err == nil && !strings.Contains(seen[s], "new") && name != "delete" {
						t.Errorf("the old owner believes that it wrote; the new one saw %s", seen[s])
					}
				})
			})
		}
	}
}

// expire makes a lease look as if its time were over, without the wait.
func (s *step) expire(l store.Lease) {
	bucket, name := aws.String("agents"), aws.String("p/leases/"+l.Name)
	o, err := s.client(false).GetObject(s.t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: name})
	s.must(err)
	body, err := io.ReadAll(o.Body)
	s.must(err)
	text := strings.Replace(string(body), fmt.Sprintf(`"ttl":%d`, l.TTL), fmt.Sprintf(`"ttl":%d`, -time.Minute), 1)
	if text == string(body) {
		s.t.Fatalf("the lease is %s", body)
	}
	_, err = s.client(false).PutObject(s.t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: name, Body: strings.NewReader(text)})
	s.must(err)
}

// The reply to any write is lost, and the client repeats it. Everything happens
// once.
func TestLostReplies(t *testing.T) {
	ctx := t.Context()
	note := store.Batch{Entries: []store.Entry{[]byte(`{"type":"tag"}`)}}
	for n := 1; ; n++ {
		srv := newServer(t)
		s := &step{s3server: srv, t: t, k: key(1), sub: key(1)}
		s.slow, s.quick = srv.stores(t)
		srv.mu.Lock()
		srv.lose = n
		srv.mu.Unlock()
		l, err := s.slow.Acquire(ctx, "p", "c", "me", time.Minute)
		s.must(err)
		for range 20 { // merges some
			b := note
			b.Fence = l.Fence
			s.must(s.slow.Append(ctx, s.k, b))
		}
		s.must(s.slow.Renew(ctx, l))
		s.must(s.slow.Compact(ctx, s.k))
		s.must(s.slow.Release(ctx, l))
		l, err = s.slow.Acquire(ctx, "p", "c", "me", time.Minute)
		s.must(err)
		if l.Token != 2 {
			t.Errorf("write %d: token %d", n, l.Token)
		}
		count := 0
		for _, err := range store.Entries(ctx, s.quick, s.k) {
			s.must(err)
			count++
		}
		if count != 20 {
			t.Fatalf("write %d: %d entries", n, count)
		}
		s.must(s.slow.Delete(ctx, s.k, l.Fence))
		if got := s.entries(s.k); got != "none" {
			t.Errorf("write %d: %s after Delete", n, got)
		}
		if srv.writes < n {
			if n < 60 {
				t.Errorf("%d writes: the test shows little", n)
			}
			return
		}
	}
}

// A server that ignores conditions is found out before anything is written.
func TestUnconditional(t *testing.T) {
	for _, ignored := range []string{"If-None-Match", "If-Match"} {
		srv := newServer(t)
		srv.wish = func(r *http.Request) { r.Header.Del(ignored) }
		s := s3store.New(srv.client(false), "agents", "")
		if err := s.Append(t.Context(), key(1), entry("1")); !errors.Is(err, s3store.ErrUnconditional) {
			t.Errorf("without %s: Append = %v", ignored, err)
		}
		if _, err := s.Acquire(t.Context(), "p", "c", "me", time.Minute); !errors.Is(err, s3store.ErrUnconditional) {
			t.Errorf("without %s: Acquire = %v", ignored, err)
		}
		probe := &step{s3server: srv, t: t}
		if left := probe.objects(""); len(left) != 0 {
			t.Errorf("without %s there is %q", ignored, left)
		}
	}
}

// A writer died before it entered the session into the index.
func TestLeftOutOfTheIndex(t *testing.T) {
	srv := newServer(t)
	s := &step{s3server: srv, t: t, k: key(1)}
	s.slow, s.quick = srv.stores(t)
	s.must(s.slow.Append(t.Context(), s.k, entry("1")))
	name := "p/index/" + s.k.Session
	if _, err := srv.client(false).DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("agents"), Key: &name}); err != nil {
		t.Fatal(err)
	}
	s.lists(true)
	s.must(s.slow.Append(t.Context(), s.k, entry("1"))) // sent again
	if got := s.objects(name); len(got) != 1 {
		t.Errorf("the index has %q", got)
	}
	s.lists(true)
}

// A process that read a lease before it was renewed cannot take it.
func TestRenewedWhileAcquiring(t *testing.T) {
	srv := newServer(t)
	s := &step{s3server: srv, t: t, k: key(1)}
	s.slow, s.quick = srv.stores(t)
	l, err := s.quick.Acquire(t.Context(), "p", "c", "me", time.Millisecond)
	s.must(err)
	l.TTL = time.Minute
	renewed := false
	for !renewed { // until the server's clock, which counts seconds, has moved on
		srv.count, srv.before, srv.do = 0, 2, func() { renewed = true; s.must(s.quick.Renew(t.Context(), l)) }
		_, err = s.slow.Acquire(t.Context(), "p", "c", "you", time.Minute)
		if !errors.Is(err, store.ErrLeased) {
			t.Fatalf("Acquire = %v, renewed %v", err, renewed)
		}
	}
}
