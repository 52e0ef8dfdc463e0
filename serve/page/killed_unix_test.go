//go:build unix

package page_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/test/browser"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/page"
	"github.com/claude-agent-go/claude/store"
)

// chromium is the browser of all tests.
var chromium browser.Chromium

// TestMain lets the test binary play a server that can be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PAGE_TEST_DIR"); dir != "" {
		if err := playServer(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := flag.Set("test.parallel", "8"); err != nil { // most tests wait
		panic(err)
	}
	debug.SetGCPercent(400) // a server and its fleet live for one test
	code := m.Run()
	if err := chromium.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// playServer serves conversations with a scripted CLI, whose tool is outside of
// this process, until it is killed.
func playServer(dir string) error {
	quiet, ctx := slog.New(slog.DiscardHandler), context.Background()
	cli := claudetest.NewCLI(&claudetest.Script{
		Model: func(c *claudetest.ModelCall) claudetest.Reply {
			if len(c.ToolResults) > 0 {
				return claudetest.Say("Now it is built.")
			}
			return claudetest.UseTools(claudetest.ScriptedCall{ID: os.Getenv("PAGE_TEST_CALL"), Name: "Bash", Input: map[string]string{"command": "make"}})
		},
		Tools: map[string]host.RunFunc{"Bash": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
			reply, err := http.Get(os.Getenv("PAGE_TEST_TOOL"))
			if err != nil {
				return host.ToolOutput{}, err
			}
			defer reply.Body.Close()
			text, err := io.ReadAll(reply.Body)
			return host.TextOutput(string(text)), err
		}},
	})
	var db store.Fleet = store.Files(filepath.Join(dir, "store"))
	if n, err := strconv.Atoi(os.Getenv("PAGE_TEST_DIE")); err == nil {
		db = &mortal{Fleet: db, writes: int64(n), forgets: os.Getenv("PAGE_TEST_FORGET") != ""}
	}
	patience, err := time.ParseDuration(os.Getenv("PAGE_TEST_PATIENCE"))
	if err != nil {
		return err
	}
	presets := []serve.Preset{{Name: "shop", Roots: []string{dir}, Options: &claude.Options{Transport: cli, Env: []string{"HOME=/home/ada"}, Logger: quiet}}}
	sessions, err := serve.Sessions(db, "p", presets, nil)
	if err != nil {
		return err
	}
	f, err := fleet.Open(ctx, fleet.Options{
		Store: db, Project: "p", Journal: filepath.Join(dir, "journal"), Logger: quiet, Session: sessions,
		Gate: &approval.Options{Patience: patience}, Poll: 20 * time.Millisecond, TTL: 10 * time.Second,
	})
	if err != nil {
		return err
	}
	s, err := serve.New(f, serve.Options{Records: db, Project: "p", Presets: presets, Page: page.New, Logger: quiet})
	if err != nil {
		return err
	}
	token, err := serve.IssueToken(ctx, db, "p", api.NewToken{Name: "test", User: "ada", Role: api.RoleOperator})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s %s\n", l.Addr(), token.Secret)
	return http.Serve(l, s)
}

// mortal is a store that kills its process with so many writes after a decision:
// with 0, the decision itself is the last that is stored.
type mortal struct {
	store.Fleet
	writes  int64
	forgets bool // the process dies before its calls are stored
	decided atomic.Bool
	since   atomic.Int64
}

func (m *mortal) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	next, err := m.Fleet.Change(ctx, f, c...)
	if err == nil {
		if bytes.Contains(c[0].Value, []byte(`"state":"decided"`)) && m.decided.CompareAndSwap(false, true) {
			m.since.Store(0)
			m.wrote(0)
		} else {
			m.wrote(1)
		}
	}
	return next, err
}

func (m *mortal) Append(ctx context.Context, k store.Key, b store.Batch) error {
	isCall := func(e store.Entry) bool { return bytes.Contains(e, []byte(`"tool_use"`)) }
	if m.forgets && slices.ContainsFunc(b.Entries, isCall) {
		select {} // until the process dies
	}
	err := m.Fleet.Append(ctx, k, b)
	if err == nil {
		m.wrote(1)
	}
	return err
}

// wrote counts a write, and ends the process if it is the last.
func (m *mortal) wrote(n int64) {
	if m.decided.Load() && m.since.Add(n) >= m.writes {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it arrives
	}
}

// outside is the tool, which outlives the servers.
type outside struct {
	*httptest.Server
	runs atomic.Int64
	// begun gets each call. hold keeps them until it is closed; nil keeps
	// none.
	begun chan struct{}
	hold  chan struct{}
}

func newOutside(t *testing.T) *outside {
	o := &outside{begun: make(chan struct{}, 100)}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.runs.Add(1)
		o.begun <- struct{}{}
		if o.hold != nil {
			select {
			case <-o.hold:
			case <-r.Context().Done():
			}
		}
		fmt.Fprint(w, "built")
	}))
	t.Cleanup(o.Close)
	return o
}

// killable is a server in a process of its own.
type killable struct {
	t              *testing.T
	address, token string
	gone           func() // waits for its end
	kill           func()
}

// spawn starts a server on the data in dir.
func spawn(t *testing.T, dir string, tool *outside, settings ...string) *killable {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PAGE_TEST_DIR="+dir, "PAGE_TEST_TOOL="+tool.URL, "PAGE_TEST_PATIENCE=1h", "TMPDIR="+t.TempDir(), leak.Mark())
	cmd.Env = append(cmd.Env, settings...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k := &killable{t: t}
	k.gone = sync.OnceFunc(func() {
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait() // it was killed
		http.DefaultClient.CloseIdleConnections()
	})
	k.kill = func() {
		_ = cmd.Process.Kill() // it may have ended itself
		k.gone()
	}
	t.Cleanup(k.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, scanErr := fmt.Sscan(line, &k.address, &k.token); scanErr != nil {
		t.Fatalf("the server does not start: %q, %v", line, err)
	}
	return k
}

// do makes a request. A server that ends meanwhile is not an error.
func (k *killable) do(method, path string, body any) (status int, text string) {
	k.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		k.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(k.t.Context(), method, k.address+path, bytes.NewReader(data))
	if err != nil {
		k.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+k.token)
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	return read(k.t, reply)
}

// want makes a request that must succeed, and decodes the answer.
func (k *killable) want(method, path string, body, into any) {
	k.t.Helper()
	status, text := k.do(method, path, body)
	if status/100 != 2 {
		k.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		k.t.Fatal(err)
	}
}

// asked begins a conversation and returns the approval that it comes to.
func (k *killable) asked(deferred bool) api.Approval {
	k.t.Helper()
	var own api.Conversation
	k.want("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Content: api.Text("Build it")}, &own)
	var found api.Approval
	k.until("the approval", func() bool {
		var list api.List[api.Approval]
		k.want("GET", "/v1/approvals?state=pending", nil, &list)
		if len(list.Items) == 1 {
			found = list.Items[0]
		}
		return len(list.Items) == 1 && (found.Deferred || !deferred)
	})
	return found
}

// until polls another process until the condition holds.
func (k *killable) until(what string, is func() bool) {
	k.t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(deadline) {
			_, conversations := k.do("GET", "/v1/conversations", nil)
			_, approvals := k.do("GET", "/v1/approvals", nil)
			k.t.Fatalf("%s does not come: %s, %s", what, conversations, approvals)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// stored reports whether the transcript has the call of an approval. A question may be
// stored before its call; a server killed in between loses the call, and the question with it.
func stored(t *testing.T, dir string, a api.Approval) bool {
	t.Helper()
	db := store.Files(filepath.Join(dir, "store"))
	for own, err := range db.List(t.Context(), "p") {
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range store.Entries(t.Context(), db, store.Key{Project: "p", Session: own.Session}) {
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(e, []byte(`"id":"`+a.ToolUseID+`"`)) {
				return true
			}
		}
	}
	return false
}

// answered waits for the end of the turn.
func (k *killable) answered(id string) {
	k.t.Helper()
	k.until("the end of the turn", func() bool {
		var own api.Conversation
		k.want("GET", "/v1/conversations/"+id, nil, &own)
		var list api.List[api.Approval]
		k.want("GET", "/v1/approvals?state=pending", nil, &list)
		if len(list.Items) > 0 {
			k.t.Fatalf("a person is asked again: %+v", list.Items)
		}
		return own.State == api.StateIdle && own.Queued == 0
	})
}

// A server is killed right after it has stored a decision, and before the call
// that waits, or sleeps, learns about it. The next server lets the tool run, once.
func TestKilledBetweenDecisionAndResume(t *testing.T) {
	long.Test(t, "kills servers and waits for their leases")
	t.Parallel()
	for name, deferred := range map[string]bool{"a process waits": false, "deferred": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, tool := t.TempDir(), newOutside(t)
			patience := "1h"
			if deferred {
				patience = "1ms"
			}
			first := spawn(t, dir, tool, "PAGE_TEST_DIE=0", "PAGE_TEST_PATIENCE="+patience)
			asked := first.asked(deferred)
			first.until("the call in the transcript", func() bool { return stored(t, dir, asked) })
			if status, text := first.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest}); status != 0 {
				t.Fatalf("the server outlived the decision: %d %s", status, text)
			}
			first.gone()
			if n := tool.runs.Load(); n != 0 {
				t.Fatalf("the tool ran %d times before the server was killed", n)
			}
			next := spawn(t, dir, tool)
			next.answered(asked.Conversation)
			var now api.Approval
			next.want("GET", "/v1/approvals/"+asked.ID, nil, &now)
			if n := tool.runs.Load(); n != 1 || now.State != api.ApprovalAllowed || now.Outcome != api.OutcomeRan || now.DecidedBy != "ada" {
				t.Errorf("the tool ran %d times: %+v", n, now)
			}
			// Once it has run it never does again, whatever happens to servers.
			next.kill()
			last := spawn(t, dir, tool)
			last.answered(asked.Conversation)
			if n := tool.runs.Load(); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
		})
	}
}

// A server is killed after it has stored a question and its decision, and before the call
// itself. The next server cannot make the call: its person reads that the decision was
// not used, and is asked about the call that the model makes instead.
func TestKilledBeforeTheCallIsStored(t *testing.T) {
	long.Test(t, "kills servers and waits for their leases")
	t.Parallel()
	dir, tool := t.TempDir(), newOutside(t)
	first := spawn(t, dir, tool, "PAGE_TEST_DIE=0", "PAGE_TEST_FORGET=1", "PAGE_TEST_CALL=toolu_lost")
	asked := first.asked(false)
	first.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest})
	first.gone()
	next := spawn(t, dir, tool, "PAGE_TEST_CALL=toolu_again")
	var again api.Approval
	next.until("the question about the new call", func() bool {
		var list api.List[api.Approval]
		next.want("GET", "/v1/approvals?state=pending", nil, &list)
		if len(list.Items) == 1 {
			again = list.Items[0]
		}
		return len(list.Items) == 1
	})
	var lost api.Approval
	next.want("GET", "/v1/approvals/"+asked.ID, nil, &lost)
	if lost.State != api.ApprovalWithdrawn || lost.Outcome != api.OutcomeWithdrawn || !strings.Contains(lost.Unused, "was lost") || lost.DecidedBy != "ada" {
		t.Errorf("the decision about the lost call: %+v", lost)
	}
	next.want("POST", "/v1/approvals/"+again.ID+"/decision", api.Decision{Decision: "allow", Digest: again.Digest}, &again)
	next.answered(asked.Conversation)
	next.want("GET", "/v1/approvals/"+again.ID, nil, &again)
	if n := tool.runs.Load(); n != 1 || again.Outcome != api.OutcomeRan {
		t.Errorf("the tool ran %d times: %+v", n, again)
	}
}

// A server is killed with each of the first writes after a decision. Wherever
// that is, the tool runs at most once, and the approval shows if it did not run,
// or if the outcome is unknown.
func TestKilledAtEachWrite(t *testing.T) {
	long.Test(t, "kills servers and waits for their leases")
	t.Parallel()
	for writes := 1; writes <= 6; writes++ {
		t.Run(fmt.Sprint(writes), func(t *testing.T) {
			t.Parallel()
			dir, tool := t.TempDir(), newOutside(t)
			first := spawn(t, dir, tool, "PAGE_TEST_DIE="+strconv.Itoa(writes))
			asked := first.asked(false)
			first.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest})
			first.gone()
			next := spawn(t, dir, tool)
			next.answered(asked.Conversation)
			var now api.Approval
			next.want("GET", "/v1/approvals/"+asked.ID, nil, &now)
			switch n := tool.runs.Load(); {
			case n == 1 && (now.Outcome == api.OutcomeRan || now.Outcome == api.OutcomeUnknown):
			case n == 0 && now.Outcome == api.OutcomeUnknown: // it was released, and could have begun
			case n == 0 && now.Outcome == api.OutcomeWithdrawn: // its process had not learned the decision
			default:
				t.Errorf("the tool ran %d times, and the approval is %+v", n, now)
			}
			t.Logf("ran %d times: %s", tool.runs.Load(), now.Outcome)
		})
	}
}

// A server is killed while the tool runs. It is not run again, and the API and
// the page report its outcome as unknown.
func TestKilledWhileTheToolRuns(t *testing.T) {
	long.Test(t, "kills servers and waits for their leases")
	t.Parallel()
	dir, tool := t.TempDir(), newOutside(t)
	tool.hold = make(chan struct{})
	defer close(tool.hold)
	first := spawn(t, dir, tool)
	asked := first.asked(false)
	var now api.Approval
	first.want("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest}, &now)
	<-tool.begun
	first.kill()

	next := spawn(t, dir, tool)
	next.answered(asked.Conversation)
	next.want("GET", "/v1/approvals/"+asked.ID, nil, &now)
	if n := tool.runs.Load(); n != 1 || now.Outcome != api.OutcomeUnknown || now.State != api.ApprovalAllowed {
		t.Errorf("the tool ran %d times, and the approval is %+v", n, now)
	}
	if status, text := next.do("GET", "/a/"+asked.ID, nil); status != http.StatusOK || !strings.Contains(text, "nobody knows whether it finished") {
		t.Errorf("the page of the approval: %d %s", status, text)
	}
	next.until("the badge of the call", func() bool {
		status, text := next.do("GET", "/c/"+asked.Conversation, nil)
		return status == http.StatusOK && strings.Contains(text, `<span class="badge warn">unknown</span>`)
	})
}
