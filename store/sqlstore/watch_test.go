package sqlstore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/server"
	"github.com/claude-agent-go/claude/internal/test/watched"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/sqlstore"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// through returns a Postgres source that leads through a proxy, and the address of the server.
func through(t *testing.T, source string, reply func(io.Writer, io.Reader) error) (string, string, *server.Proxy) {
	t.Helper()
	u, err := url.Parse(source)
	if err != nil {
		t.Fatal(err)
	}
	address := u.Host
	p := server.NewProxy(t, address, reply)
	u.Host = p.Addr()
	return u.String(), address, p
}

// A listener that the server ends listens again, and the reader looks at everything. So it does
// when the server was away.
func TestPostgresWatchReconnects(t *testing.T) {
	source := server.Postgres(t, 15)
	proxied, address, p := through(t, source, nil)
	s, direct := open(t, proxied), open(t, source)
	l := watched.New(t, s)
	l.Record("a change", "1", watched.Put(t, s, "1"))
	command(t, "pgx", source, "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %'")
	l.Zero("after the listener was ended")
	l.Record("a change after that", "2", watched.Put(t, s, "2"))
	p.Lead("")
	watched.Put(t, direct, "3") // which the zero stands for
	p.Lead(address)
	l.Zero("when the server is back")
	l.Record("a change after that", "4", watched.Put(t, direct, "4"))
}

// crash makes a change, and dies between its commit and its announcement.
func crash(s *sqlstore.Store) {
	s.Announce(func(context.Context, string) error {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill() // if it fails, the process waits until the test ends it
		}
		select {}
	})
	_, err := s.Change(context.Background(), store.Fence{}, store.RecordChange{Key: watched.Record("killed")})
	fmt.Println("changed:", err)
	select {}
}

// What a process has committed and not announced before it was killed is found by a look.
func TestPostgresWatchKilled(t *testing.T) {
	source := server.Postgres(t, 15)
	s := open(t, source)
	s.LookEvery(time.Second) // real time: it may come late
	l := watched.New(t, s)
	cmd := other(source)
	cmd.Env = append(cmd.Env, "STORE_TEST_CRASH=1")
	if out, err := cmd.Output(); err == nil {
		t.Fatalf("the process was not killed: %s", out)
	} else if _, ok := err.(*exec.ExitError); !ok {
		t.Fatal(err)
	}
	found, err := s.View(t.Context(), store.View{Keys: []store.RecordKey{watched.Record("killed")}})
	if err != nil || len(found) != 1 {
		t.Fatalf("what it has committed: %v, %v", found, err)
	}
	for _, c := range l.Skip() {
		if !c.IsZero() {
			t.Errorf("%+v comes", c)
		}
	}
	l.Zero("after the process was killed")
}

// withoutNotifications copies what a Postgres server sends but for notifications, as a pooler does
// that gives another connection to each transaction.
func withoutNotifications(client io.Writer, server io.Reader) error {
	for {
		head := make([]byte, 5)
		if _, err := io.ReadFull(server, head); err != nil {
			return err
		}
		message := append(head, make([]byte, binary.BigEndian.Uint32(head[1:])-4)...)
		if _, err := io.ReadFull(server, message[5:]); err != nil {
			return err
		}
		if head[0] == 'A' {
			continue
		}
		if _, err := client.Write(message); err != nil {
			return err
		}
	}
}

// Behind a pooler that does not keep sessions, the reader looks every few seconds. Changes of its
// own process still come by name.
func TestPostgresWatchBehindPooler(t *testing.T) {
	proxied, _, _ := through(t, server.Postgres(t, 15), withoutNotifications)
	s := open(t, proxied)
	l := watched.New(t, s)
	revision := watched.Put(t, s, "own")
	for zeros := 0; ; zeros++ {
		c := l.Next("its own change")
		if c.Record == watched.Record("own") && c.Revision == revision {
			break
		}
		if !c.IsZero() || zeros > 2 {
			t.Fatalf("%+v comes", c)
		}
	}
	l.Zero("after a few seconds")
}

// Of many changes by many writers, each is read, or the reader is told to look after it was made,
// although connections are cut.
func TestPostgresWatchMissesNothing(t *testing.T) {
	source := server.Postgres(t, 15)
	proxied, address, p := through(t, source, nil)
	l := watched.New(t, open(t, proxied))
	l.Many([]watched.Store{open(t, source), open(t, source), open(t, source), open(t, source)}, 250, func() { p.Lead(address) })
}

// All writers have a log in one file, so nothing is missed at all.
func TestSQLiteWatchMissesNothing(t *testing.T) {
	source := "sqlite:" + filepath.Join(t.TempDir(), "s.db")
	l := watched.New(t, open(t, source))
	l.Many([]watched.Store{open(t, source), open(t, source), open(t, source), open(t, source)}, 50, func() {})
	for _, c := range l.Skip() {
		if c.IsZero() {
			t.Error("the reader is told to look at everything")
		}
	}
}

// Changes of 16 clients at once in Postgres, whose commits are synced to the disk: not announced,
// announced, and announced to a reader.
func BenchmarkChange(b *testing.B) {
	source := server.DurablePostgres(b, 15)
	for _, how := range []string{"silent", "announced", "watched"} {
		b.Run(how, func(b *testing.B) {
			s, err := sqlstore.Open(b.Context(), source)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if how == "silent" {
				s.Announce(nil)
			}
			if how == "watched" {
				ctx, cancel := context.WithCancel(b.Context())
				ready, done := make(chan bool, 1), make(chan bool)
				go func() {
					defer close(done)
					for c, err := range s.Watch(ctx, watched.Project) {
						if err != nil {
							b.Error(err)
						}
						if c.IsZero() {
							select {
							case ready <- true:
							default:
							}
						}
					}
				}()
				defer func() { cancel(); <-done }()
				<-ready
			}
			b.SetParallelism(8) // on two processors
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				k, revision := watched.Record(storeimpl.NewBatchID()), int64(0)
				for pb.Next() {
					next, err := s.Change(b.Context(), store.Fence{}, store.RecordChange{Key: k, Value: make([]byte, 500), Revision: revision})
					if err != nil {
						b.Error(err)
						return
					}
					revision = next[0]
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
		})
	}
}
