package s3store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/s3store"
	"github.com/claude-agent-go/claude/store/storetest"
)

// bucket starts a server in this process and returns a client of it, with a bucket.
func bucket(t testing.TB) *s3.Client { return newServer(t).client(false) }

// A bucket keeps the transcripts of a fleet, and folders that processes share the rest.
func TestS3(t *testing.T) { storetest.Run(t, inBucket(t)) }

// A bucket may be wrapped.
func TestS3Wrapped(t *testing.T) {
	long.Test(t, "holds a bucket to the contract twice more, within stores that wrap it")
	storetest.RunWrapped(t, inBucket(t))
}

func inBucket(t *testing.T) storetest.Target {
	url, dir := newServer(t).url, t.TempDir()
	return storetest.Target{
		Open:    func(*testing.T) store.Fleet { return joined(url, dir) },
		Again:   func(*testing.T, store.Fleet) store.Fleet { return joined(url, dir) },
		Process: func(*testing.T, store.Fleet) *exec.Cmd { return other(url, dir) },
		Compact: func(ctx context.Context, _ store.Fleet, k store.Key) error { return at(url).Compact(ctx, k) },
	}
}

// joined is the store of a server, with leases and records in a folder.
func joined(url, dir string) store.Fleet {
	rest := store.Files(dir)
	rest.NoSync = true
	return store.Join(at(url), rest)
}

// A bucket that a newer program has laid out is left as it is, and one without a version is
// read.
func TestLayout(t *testing.T) {
	ctx := t.Context()
	srv := newServer(t)
	k, lease := key(1), store.Lease{Fence: store.Fence{Project: "p", Name: "lease", Token: 1}, Owner: "me", TTL: time.Minute}
	add(t, at(srv.url), k, "", `{"uuid":"1"}`)
	set := func(version string) {
		client, bucket, name := srv.client(false), "agents", "pre/fix/-layout"
		_, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: &name})
		if err == nil && version != "" {
			_, err = client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &name, Body: strings.NewReader(version)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for version, want := range map[string]error{"1000": store.ErrNewer, "x": store.ErrDamaged, "0": store.ErrDamaged, "-1": store.ErrDamaged, "1.5": store.ErrDamaged} {
		set(version)
		s := at(srv.url)
		_, acquired := s.Acquire(ctx, "p", "lease", "me", time.Minute)
		for method, err := range map[string]error{
			"Append": s.Append(ctx, k, entry("2")), "Load": last(s.Load(ctx, k, 0)), "List": last(s.List(ctx, "p")), "Subagents": last(s.Subagents(ctx, "p", k.Session)),
			"Delete": s.Delete(ctx, k, store.Fence{}), "Acquire": acquired, "Renew": s.Renew(ctx, lease), "Release": s.Release(ctx, lease), "Compact": s.Compact(ctx, k),
		} {
			if !errors.Is(err, want) {
				t.Errorf("layout %q: %s = %v; want %v", version, method, err, want)
			}
		}
	}
	for _, version := range []string{"1", ""} {
		set(version)
		if got := load(t, at(srv.url), k); got != `{"uuid":"1"}` {
			t.Errorf("layout %q: there is %s", version, got)
		}
	}
	add(t, at(srv.url), k, "", `{"uuid":"2"}`)
}

// last is the error of a loop.
func last[T any](all iter.Seq2[T, error]) (err error) {
	for _, err = range all {
	}
	return err
}

// at is the store of a server.
func at(url string) *s3store.Store {
	return s3store.New((&s3server{url: url}).client(false), "agents", "pre/fix/")
}

// other is another process with the stores of a server and a folder.
func other(url, dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_OWN="+url, "STORE_TEST_DIR="+dir)
	return cmd
}

// TestMain lets the test binary be the other process of a test.
func TestMain(m *testing.M) {
	url := os.Getenv("STORE_TEST_OWN")
	if url == "" {
		os.Exit(m.Run())
	}
	if realstore.Owner() {
		os.Exit(realstore.Own(at(url)))
	}
	os.Exit(storetest.Own(joined(url, os.Getenv("STORE_TEST_DIR"))))
}

func key(n int) store.Key {
	return store.Key{Project: "p", Session: fmt.Sprintf("00000000-0000-4000-8000-%012d", n)}
}

func add(t *testing.T, s store.Transcripts, k store.Key, id string, lines ...string) {
	t.Helper()
	b := store.Batch{ID: id}
	for _, l := range lines {
		b.Entries = append(b.Entries, store.Entry(l))
	}
	if err := s.Append(t.Context(), k, b); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, s store.Transcripts, k store.Key) string {
	t.Helper()
	var out strings.Builder
	for e, err := range store.Entries(t.Context(), s, k) {
		if err != nil {
			t.Fatal(err)
		}
		out.Write(e)
	}
	return out.String()
}

// Compaction changes nothing but how many objects are read, no matter who writes beside
// it and how often it runs.
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
	for e, err := range store.Entries(t.Context(), s, k) {
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

// A changed object is an error for readers and writers alike.
func TestDamaged(t *testing.T) {
	for name, damage := range map[string]func(body string) string{
		"garbage":  func(string) string { return "hello" },
		"empty":    func(string) string { return "" },
		"cut off":  func(body string) string { return body[:len(body)-3] },
		"longer":   func(body string) string { return body + "{}\n" },
		"reversed": func(body string) string { return strings.Replace(body, "-{", "--", 1) },
		"gone":     nil,
	} {
		for _, folder := range []string{"p/parts/", "p/heads/"} {
			if folder == "p/heads/" && (damage == nil || name == "reversed") {
				continue // a session without a head does not exist
			}
			t.Run(name+" in "+folder, func(t *testing.T) {
				client := bucket(t)
				k := key(1)
				s := s3store.New(client, "agents", "")
				add(t, s, k, "b1", `{"uuid":"1"}`)
				add(t, s, k, "b2", `{"uuid":"2"}`)
				breakObject(t, client, folder, damage)
				for _, s := range []*s3store.Store{s3store.New(client, "agents", ""), s3store.New(client, "agents", "")} {
					var last error
					for _, err := range store.Entries(t.Context(), s, k) {
						last = err
					}
					if !errors.Is(last, store.ErrDamaged) {
						t.Errorf("Load = %v", last)
					}
					if err := s.Append(t.Context(), k, store.Batch{Entries: []store.Entry{[]byte("{}")}}); !errors.Is(err, store.ErrDamaged) {
						t.Errorf("Append = %v", err)
					}
					if err := s.Compact(t.Context(), k); !errors.Is(err, store.ErrDamaged) {
						t.Errorf("Compact = %v", err)
					}
				}
			})
		}
	}
}

// breakObject damages the first object of a folder, or removes it.
func breakObject(t *testing.T, client *s3.Client, folder string, damage func(string) string) {
	t.Helper()
	bucket := aws.String("agents")
	list, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: bucket, Prefix: &folder})
	if err != nil || len(list.Contents) == 0 {
		t.Fatalf("%s: %v", folder, err)
	}
	name := list.Contents[0].Key
	if damage == nil {
		if _, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: bucket, Key: name}); err != nil {
			t.Fatal(err)
		}
		return
	}
	o, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: name})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(o.Body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: name, Body: strings.NewReader(damage(string(body)))}); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	storetest.BenchmarkAppend(b, s3store.New(bucket(b), "agents", ""))
}
