package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// pagesOf lists sessions page by page, and returns their ids and how many pages they
// were on.
func pagesOf(t *testing.T, b backend, cwd *string) (ids []string, pages int) {
	t.Helper()
	for req := (&schema.ListSessionsRequest{Cwd: cwd}); ; pages++ {
		resp, err := b.List(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range resp.Sessions {
			ids = append(ids, string(s.SessionID))
		}
		if resp.NextCursor == nil {
			return ids, pages + 1
		}
		req.Cursor = resp.NextCursor
	}
}

// Every session is on one page, the newest on the first.
func TestListOfDisk(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".claude", "projects", "-work")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 2*listPage + 20 {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		line := fmt.Sprintf(`{"type":"user","uuid":"u","sessionId":%q,"cwd":"/work","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"hello"}}`+"\n", id)
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, id)
	}
	got, pages := pagesOf(t, localAgent{&Local{Options: &claude.Options{Env: []string{"HOME=" + home}}}}, nil)
	slices.Sort(got) // several were modified at the same moment
	if !slices.Equal(got, want) || pages != 3 {
		t.Errorf("%d sessions on %d pages, want %d on 3", len(got), pages, len(want))
	}
	for _, cursor := range []string{"", "-5", "x/y", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z/"} {
		_, err := localAgent{&Local{}}.List(t.Context(), &schema.ListSessionsRequest{Cursor: &cursor})
		if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeInvalidParams {
			t.Errorf("the cursor %q: %v", cursor, err)
		}
	}
}

// listServer is a server with conversations in two directories by turns.
type listServer struct {
	RemoteServer
	all, asked int
	every      int // so many have one in the other directory
}

func (s *listServer) ConversationPage(_ context.Context, q api.ConversationQuery) (list api.List[api.Conversation], err error) {
	s.asked++
	at, _ := strconv.Atoi(q.Cursor)
	for ; at < s.all && len(list.Items) < q.Limit; at++ {
		c := api.Conversation{ID: strconv.Itoa(at), Dir: "/a"}
		if at%s.every == s.every-1 {
			c.Dir = "/b"
		}
		list.Items = append(list.Items, c)
	}
	if at < s.all {
		list.Next = strconv.Itoa(at)
	}
	return list, nil
}

// A page of sessions is a page of the server: none is asked for twice.
func TestListOfServer(t *testing.T) {
	s := &listServer{all: 2*listPage + 20, every: 100}
	ids, pages := pagesOf(t, remoteAgent{&Remote{Server: s}}, nil)
	if len(ids) != s.all || pages != 3 || s.asked != 3 {
		t.Errorf("%d sessions on %d pages, %d requests; want %d on 3 pages, 3 requests", len(ids), pages, s.asked, s.all)
	}
	s = &listServer{all: 10 * listSieve, every: 5 * listSieve}
	ids, pages = pagesOf(t, remoteAgent{&Remote{Server: s}}, new("/b"))
	if want := []string{"999", "1999"}; !slices.Equal(ids, want) || pages != 2 || s.asked != 10 {
		t.Errorf("%q on %d pages, %d requests; want %q on 2 pages, 10 requests", ids, pages, s.asked, want)
	}
}

// Sessions are looked for where the CLI keeps them: the last of several values counts.
func TestHistoryOfTheCLI(t *testing.T) {
	home := "HOME"
	if runtime.GOOS == "windows" {
		home = "USERPROFILE"
	}
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{home + "=/one"}, filepath.Join("/one", ".claude")},
		{[]string{home + "=/one", home + "=/two"}, filepath.Join("/two", ".claude")},
		{[]string{"CLAUDE_CONFIG_DIR=/c", home + "=/one"}, "/c"},
		{[]string{"CLAUDE_CONFIG_DIR=/c", home + "=/one", "CLAUDE_CONFIG_DIR=/d"}, "/d"},
	} {
		l := &Local{Options: &claude.Options{Env: c.env}}
		if got := l.history().ConfigDir(); got != c.want {
			t.Errorf("%q: %s, want %s", c.env, got, c.want)
		}
	}
}
