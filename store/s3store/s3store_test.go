package s3store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/s3store"
	"github.com/claude-agent-go/claude/store/storetest"
)

// bucket starts a server in this process and returns a client of it, with a bucket.
func bucket(t testing.TB) *s3.Client { return newServer(t).client(false) }

func TestS3(t *testing.T) {
	url := newServer(t).url
	storetest.Run(t, storetest.Target{
		Open:    func(*testing.T) store.Fleet { return at(url) },
		Again:   func(*testing.T, store.Fleet) store.Fleet { return at(url) },
		Process: func(*testing.T, store.Fleet) *exec.Cmd { return other(url) },
		Compact: func(ctx context.Context, s store.Fleet, k store.Key) error {
			return s.(*s3store.Store).Compact(ctx, k)
		},
		Layout: func(t *testing.T, _ store.Fleet, version string) {
			client, bucket, name := (&s3server{url: url}).client(false), "agents", "pre/fix/-layout"
			_, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: &name})
			if err == nil && version != "" {
				_, err = client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &name, Body: strings.NewReader(version)})
			}
			if err != nil {
				t.Error(err)
			}
		},
	})
}

// at is the store of a server.
func at(url string) *s3store.Store {
	return s3store.New((&s3server{url: url}).client(false), "agents", "pre/fix/")
}

// other is another process with a store of the same data.
func other(url string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_OWN="+url)
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
	os.Exit(storetest.Own(at(url)))
}

func key(n int) store.Key {
	return store.Key{Project: "p", Session: fmt.Sprintf("00000000-0000-4000-8000-%012d", n)}
}

func add(t *testing.T, s store.Fleet, k store.Key, id string, lines ...string) {
	t.Helper()
	b := store.Batch{ID: id}
	for _, l := range lines {
		b.Entries = append(b.Entries, store.Entry(l))
	}
	if err := s.Append(t.Context(), k, b); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, s store.Fleet, k store.Key) string {
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
