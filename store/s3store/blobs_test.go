package s3store_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/s3store"
	"github.com/claude-agent-go/claude/workspace"
	"github.com/claude-agent-go/claude/workspace/blobtest"
)

func TestBlobs(t *testing.T) {
	srv := newServer(t)
	blobtest.Run(t, blobtest.Subject{
		Open: func(*testing.T) workspace.Blobs { return s3store.NewBlobs(srv.client(false), "agents", "pre/fix/") },
		PutOld: func(t *testing.T, b workspace.Blobs, name string, data []byte, ago time.Duration) {
			srv.putOld(t, b, name, data, ago)
		},
	})
}

// putOld puts a chunk as if that had happened so long ago.
func (s *s3server) putOld(t *testing.T, b workspace.Blobs, name string, data []byte, ago time.Duration) {
	t.Helper()
	s.behind.Store(int64(ago))
	defer s.behind.Store(0)
	if err := b.Put(t.Context(), name, data); err != nil {
		t.Fatal(err)
	}
}

// chunk is a chunk and its name.
func chunk() (name string, data []byte) {
	data = []byte("a chunk")
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), data
}

// Before each request of a call, others put, delete or read the chunk. Each one that has put
// it finds it.
func TestBlobsBeside(t *testing.T) {
	ctx := t.Context()
	name, data := chunk()
	before := time.Now().Add(-2 * time.Hour)
	put := func(b workspace.Blobs) error { return b.Put(ctx, name, data) }
	remove := func(b workspace.Blobs) error { return b.Delete(ctx, name, before) }
	get := func(b workspace.Blobs) error {
		_, err := b.Get(ctx, name)
		return err
	}
	for what, c := range map[string]struct{ call, meanwhile func(workspace.Blobs) error }{
		"a put beside a delete": {put, remove},
		"a put beside a put":    {put, put},
		"a delete beside a put": {remove, put},
		"a get beside a put":    {get, put},
	} {
		t.Run(what, func(t *testing.T) {
			for n := 1; ; n++ {
				srv := newServer(t)
				slow, quick := s3store.NewBlobs(srv.client(true), "agents", ""), s3store.NewBlobs(srv.client(false), "agents", "")
				srv.putOld(t, quick, name, data, 12*time.Hour)
				if _, err := slow.Get(ctx, strings.Repeat("0", 64)); !errors.Is(err, store.ErrNotFound) { // it has seen the layout
					t.Fatal(err)
				}
				happened := false
				srv.mu.Lock()
				srv.count, srv.before, srv.do = 0, n, func() {
					happened = true
					if err := c.meanwhile(quick); err != nil {
						t.Errorf("meanwhile, before request %d: %v", n, err)
					}
				}
				srv.mu.Unlock()
				if err := c.call(slow); err != nil {
					t.Errorf("before request %d: %v", n, err)
				}
				if !happened {
					if n < 3 {
						t.Fatalf("the call made %d requests: the test shows nothing", n-1)
					}
					return
				}
				if got, err := quick.Get(ctx, name); err != nil || string(got) != string(data) {
					t.Errorf("before request %d: %q, %v", n, got, err)
				}
			}
		})
	}
}

// A process that was killed after it has put a chunk again leaves two objects. They are one
// chunk, and go together.
func TestBlobsLeftTwice(t *testing.T) {
	ctx := t.Context()
	name, data := chunk()
	srv := newServer(t)
	b := s3store.NewBlobs(srv.client(false), "agents", "")
	srv.putOld(t, b, name, data, 12*time.Hour)
	srv.behind.Store(int64(10 * time.Hour))
	_, err := srv.client(false).PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("agents"), Key: aws.String("-blobs/" + name + "/AGAIN"), Body: strings.NewReader(string(data))})
	if err != nil {
		t.Fatal(err)
	}
	srv.behind.Store(0)
	count := func(before time.Time) (count int) {
		for _, err := range b.List(ctx, before) {
			if err != nil {
				t.Fatal(err)
			}
			count++
		}
		return count
	}
	if n := count(time.Now().Add(-2 * time.Hour)); n != 1 {
		t.Errorf("it is listed %d times", n)
	}
	if n := count(time.Now().Add(-10 * time.Hour)); n != 0 {
		t.Error("it is listed as older than its newest object")
	}
	if err := b.Delete(ctx, name, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(ctx, name); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get = %v", err)
	}
}

// Names that are not digests, objects that nobody can have put, and layouts of the future
// are refused.
func TestBlobsRefuse(t *testing.T) {
	ctx := t.Context()
	name, data := chunk()
	srv := newServer(t)
	b := s3store.NewBlobs(srv.client(false), "agents", "")
	for _, bad := range []string{"", "../" + name, name[1:], "g" + name[1:]} {
		_, err := b.Get(ctx, bad)
		for what, err := range map[string]error{"Put": b.Put(ctx, bad, data), "Get": err, "Delete": b.Delete(ctx, bad, time.Now())} {
			if err == nil || !strings.Contains(err.Error(), "not the name of a chunk") {
				t.Errorf("%s(%q) = %v", what, bad, err)
			}
		}
	}
	plant := func(key, text string) {
		t.Helper()
		_, err := srv.client(false).PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("agents"), Key: &key, Body: strings.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
	}
	plant("-blobs/"+name+"/X", strings.Repeat("x", workspace.MaxBlob+1))
	if _, err := b.Get(ctx, name); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("an object that is too large: %v", err)
	}
	plant("-layout", "99")
	if err := s3store.NewBlobs(srv.client(false), "agents", "").Put(ctx, name, data); !errors.Is(err, store.ErrNewer) {
		t.Errorf("a newer layout: %v", err)
	}
}

// A folder travels through a bucket that has its contents, beside a store of its record, and
// the collection removes what is not needed any more.
func TestSnapshotInABucket(t *testing.T) {
	ctx := t.Context()
	srv, records := newServer(t), store.Memory()
	machine := func() *workspace.Snapshots {
		files, err := workspace.NewSnapshots(workspace.SnapshotOptions{
			Root: t.TempDir(), Records: records, Project: "p",
			Blobs: s3store.NewBlobs(srv.client(false), "agents", "pre/fix/"),
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	open := func(files *workspace.Snapshots) workspace.Workdir {
		t.Helper()
		d, err := files.Open(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	here := open(machine())
	srv.behind.Store(int64(12 * time.Hour)) // what is saved first is old
	long := strings.Repeat("long ", workspace.MaxBlob/3)
	for _, text := range []string{"one", long, "two"} {
		if err := os.WriteFile(filepath.Join(here.Path(), "f"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := here.Save(ctx, store.Fence{}); err != nil {
			t.Fatal(err)
		}
	}
	srv.behind.Store(0)
	files := machine()
	if n, err := files.Collect(ctx, 2*time.Hour); n != 5 || err != nil { // "one", two of long, and their lists
		t.Errorf("%d chunks were removed, %v", n, err)
	}
	there := open(files)
	if got, err := os.ReadFile(filepath.Join(there.Path(), "f")); string(got) != "two" || err != nil {
		t.Errorf("the file is %q, %v", got, err)
	}
}
