package s3store_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/s3store"
	"github.com/claude-agent-go/claude/store/storetest"
)

// bucket starts a server in this process and returns a client of it, with a bucket.
func bucket(t testing.TB) *s3.Client {
	t.Helper()
	backend := s3mem.New()
	srv := httptest.NewServer(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.StdLog(log.New(io.Discard, "", 0)))).Server())
	t.Cleanup(srv.Close)
	if err := backend.CreateBucket("agents"); err != nil {
		t.Fatal(err)
	}
	return s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(srv.URL), UsePathStyle: true,
		Credentials:                credentials.NewStaticCredentialsProvider("key", "secret", ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
	})
}

func TestS3(t *testing.T) {
	client := bucket(t)
	open := func() store.Store { return s3store.New(client, "agents", "pre/fix/") }
	storetest.Run(t, storetest.Target{
		Open:  func(*testing.T) store.Store { return open() },
		Again: func(*testing.T, store.Store) store.Store { return open() },
	})
}

func key(n int) store.Key {
	return store.Key{Project: "p", Session: fmt.Sprintf("00000000-0000-4000-8000-%012d", n)}
}

func add(t *testing.T, s store.Store, k store.Key, id string, lines ...string) {
	t.Helper()
	b := store.Batch{ID: id}
	for _, l := range lines {
		b.Entries = append(b.Entries, store.Entry(l))
	}
	if err := s.Append(t.Context(), k, b); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, s store.Store, k store.Key) string {
	t.Helper()
	var out strings.Builder
	for e, err := range s.Load(t.Context(), k) {
		if err != nil {
			t.Fatal(err)
		}
		out.Write(e)
	}
	return out.String()
}

// Compaction changes nothing but how many objects are read, whoever writes beside
// it and however often it runs.
func TestCompact(t *testing.T) {
	client := bucket(t)
	mine, other := s3store.New(client, "agents", ""), s3store.New(client, "agents", "")
	k := key(1)
	want := ""
	for i := range 30 {
		line := fmt.Sprintf(`{"uuid":"%d","text":"-{\"batch\":1}"}`, i)
		s := mine
		if i%3 == 0 {
			s = other
		}
		add(t, s, k, fmt.Sprint("b", i), line)
		want += line
		if i%7 == 6 {
			if err := mine.Compact(t.Context(), k); err != nil {
				t.Fatal(err)
			}
		}
		if got := load(t, other, k); got != want {
			t.Fatalf("after %d batches: %s\nwant %s", i+1, got, want)
		}
	}
	// What was stored before is still known to have been.
	fresh := s3store.New(client, "agents", "")
	add(t, fresh, k, "b3", `{"uuid":"x"}`)
	add(t, fresh, k, "", `{"uuid":"5"}`)
	if got := load(t, fresh, k); got != want {
		t.Errorf("after repeats: %s", got)
	}
	if err := mine.Compact(t.Context(), key(2)); err != nil {
		t.Errorf("Compact of nothing: %v", err)
	}
}

// A loop that has listed a transcript before it was compacted sees all of it.
func TestCompactWhileLoading(t *testing.T) {
	client := bucket(t)
	s := s3store.New(client, "agents", "")
	k := key(1)
	want := 0
	for i := range 40 {
		add(t, s, k, "", fmt.Sprintf(`{"uuid":"%d"}`, i))
		want++
	}
	got := 0
	for e, err := range s.Load(t.Context(), k) {
		if err != nil {
			t.Fatal(err)
		}
		if got == 0 {
			if err := s.Compact(t.Context(), k); err != nil {
				t.Fatal(err)
			}
		}
		if e.UUID() != fmt.Sprint(got) {
			t.Fatalf("entry %d is %s", got, e)
		}
		got++
	}
	if got != want {
		t.Errorf("%d entries, want %d", got, want)
	}
}

// What is not ours is an error.
func TestDamaged(t *testing.T) {
	client := bucket(t)
	s := s3store.New(client, "agents", "")
	for i, body := range []string{"hello", "", "{\"batch\":\"x\"}\n{\"cut", "[]\n"} {
		k := key(i)
		name := fmt.Sprintf("p/sessions/%s/-/%012d", k.Session, 1)
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("agents"), Key: &name, Body: strings.NewReader(body)}); err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range s.Load(t.Context(), k) {
			last = err
		}
		if !errors.Is(last, store.ErrDamaged) {
			t.Errorf("%q: Load = %v", body, last)
		}
		if err := s.Append(t.Context(), k, store.Batch{Entries: []store.Entry{[]byte("{}")}}); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%q: Append = %v", body, err)
		}
	}
	k := key(9)
	for _, n := range []int{1, 3} {
		name := fmt.Sprintf("p/sessions/%s/-/%012d", k.Session, n)
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("agents"), Key: &name, Body: strings.NewReader("{}\n{}\n")}); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range s.Load(t.Context(), k) {
		if !errors.Is(err, store.ErrDamaged) {
			t.Errorf("a part is missing: %v", err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	storetest.BenchmarkAppend(b, s3store.New(bucket(b), "agents", ""))
}
