//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// TestMain lets the test binary play the service, on a scripted CLI.
func TestMain(m *testing.M) {
	if thinker := os.Getenv("SERVICE_TEST_THINKER"); thinker != "" {
		playService(thinker, os.Getenv("SERVICE_TEST_DIR"))
		return
	}
	os.Exit(leak.Main(m.Run))
}

// thinker is a model that outlives the service. It keeps its answers to some
// prompts back, so that the service can be killed in the middle of a turn.
type thinker struct {
	mu       sync.Mutex
	held     string // the end of the prompts that are not answered
	asked    map[string]int
	answered map[string]int
}

func newThinker() *thinker {
	return &thinker{asked: make(map[string]int), answered: make(map[string]int)}
}

func (m *thinker) hold(ending string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = ending
}

// counts returns how often a prompt came, and how often it was answered.
func (m *thinker) counts(prompt string) (asked, answered int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[prompt], m.answered[prompt]
}

// think answers a prompt, unless it is held: then it waits until
// the program that asks is gone.
func (m *thinker) think(gone context.Context, prompt string) string {
	m.mu.Lock()
	m.asked[prompt]++
	held := m.held != "" && strings.HasSuffix(prompt, m.held)
	if !held {
		m.answered[prompt]++
	}
	m.mu.Unlock()
	if held {
		<-gone.Done()
	}
	return "answer to " + prompt
}

// promptForm is the form of the prompts. The CLI adds lines of its own to a turn
// that it continues.
var promptForm = regexp.MustCompile(`(?m)^(?:\w+ (?:first|second|third)|write)$`)

// modelReply is the answer of the model, for either CLI.
func modelReply(c *claudetest.ModelCall, root string, think func(string) string) claudetest.Reply {
	prompt := ""
	for _, m := range c.Messages {
		if found := promptForm.FindString(m.Text); m.Role == "user" && found != "" {
			prompt = found
		}
	}
	if prompt == "write" && len(c.ToolResults) == 0 {
		return claudetest.UseTool("Write", map[string]string{"file_path": filepath.Join(root, "users", "ada", "work", "note.txt"), "content": "Mo"})
	}
	return claudetest.Say(think(prompt))
}

// playService is the service with a scripted CLI whose model thinks elsewhere,
// until it is killed.
func playService(thinker, root string) {
	ask := func(what string) string {
		resp, err := http.Get(thinker + "?prompt=" + url.QueryEscape(what))
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return string(text)
	}
	cli := claudetest.NewCLI(&claudetest.Script{
		Model: func(c *claudetest.ModelCall) claudetest.Reply { return modelReply(c, root, ask) },
		Tools: map[string]host.RunFunc{"Write": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
			ask("the tool runs")
			return host.TextOutput("written"), nil
		}},
	})
	f, err := openFleet(context.Background(), root, cli)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Fprintln(os.Stderr, "listening on", l.Addr())
	s := &service{login: byToken("ada:a"), fleet: f}
	fmt.Fprintln(os.Stderr, s.serve(context.Background(), l))
}

// run starts the service, and returns its address and how to kill it.
func run(t *testing.T, cmd *exec.Cmd) (ada browser, kill func()) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, said := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(said)
		defer close(address)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			t.Log(lines.Text())
			if _, found, ok := strings.Cut(lines.Text(), "listening on "); ok {
				address <- found
			}
		}
	}()
	kill = sync.OnceFunc(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-said
		_ = cmd.Wait() // it was killed
		http.DefaultClient.CloseIdleConnections()
	})
	t.Cleanup(kill)
	found := <-address
	if found == "" {
		t.Fatal("the service does not listen")
	}
	return browser{t, "http://" + found, "a"}, kill
}

// A service that is killed with SIGKILL, twice, in the middle of its work,
// answers everything that it had accepted, once and in order. A person decides
// about a call after the process that asked is gone.
func TestKilled(t *testing.T) {
	long.Test(t, "waits for leases of killed processes to end")
	m, root, tmp := newThinker(), t.TempDir(), t.TempDir()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, m.think(r.Context(), r.FormValue("prompt")))
	}))
	defer srv.Close()
	killTwice(t, m, []string{"one", "two", "three", "four"}, func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SERVICE_TEST_THINKER="+srv.URL, "SERVICE_TEST_DIR="+root, "TMPDIR="+tmp, leak.Mark())
		return cmd
	})
	if n, _ := m.counts("the tool runs"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
}

// The program as it stands does the same with the real CLI.
func TestRealKilled(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a fleet")
	m, root := newThinker(), t.TempDir()
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if c.Side {
			return claudetest.Say("A title")
		}
		return modelReply(c, root, func(prompt string) string { return m.think(c.Context(), prompt) })
	})
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, home := realcli.Env(t, url)
	program, env := realcli.Program(t, env)
	mark := leak.Processes(t) // they end before their folders are removed
	killTwice(t, m, []string{"one", "two"}, func() *exec.Cmd {
		cmd := exec.Command(program, "-addr", "127.0.0.1:0", "-dir", root)
		cmd.Env, cmd.Dir = append(env, "SERVICE_TOKENS=ada:a", mark), home
		return cmd
	})
	if text, err := os.ReadFile(filepath.Join(root, "users", "ada", "work", "note.txt")); err != nil || string(text) != "Mo" {
		t.Errorf("the tool wrote %q, %v", text, err)
	}
}

// killTwice sends three prompts to each conversation. The service is killed
// while it works on the second ones, and again while it works on the third.
func killTwice(t *testing.T, m *thinker, names []string, command func() *exec.Cmd) {
	t.Helper()
	prompts := []string{"first", "second", "third"}
	ids := make(map[string]string)
	key := func(name string, i int) string {
		return fmt.Sprintf("00000000-0000-4000-8000-%04x%08x", slices.Index(names, name), i)
	}
	m.hold("second")
	ada, kill := run(t, command())
	write := ada.send("notes", "write")
	for _, name := range names {
		for i, p := range prompts {
			ids[name+" "+p] = ada.send(name, name+" "+p, "Idempotency-Key", key(name, i))
		}
	}
	q := ada.question()
	inTheMiddle := func(of string) {
		for _, name := range names {
			eventually(t, func() bool { asked, _ := m.counts(name + " " + of); return asked > 0 }, func() string { return fmt.Sprintf("%s: the %s turn does not begin", name, of) })
		}
		kill()
	}
	inTheMiddle("second")

	m.hold("third")
	ada, kill = run(t, command())
	for _, name := range names { // a client that did not see the reply sends it again
		for i, p := range prompts {
			ada.send(name, name+" "+p, "Idempotency-Key", key(name, i))
		}
	}
	ada.allow(q)
	eventually(t, func() bool {
		// A call that left no trace in the store is made again, with a new
		// question.
		for _, another := range ada.questions() {
			ada.allow(another)
		}
		return ada.ticket("notes", write).Status == "answered"
	}, func() string { return fmt.Sprintf("after the decision: %+v", ada.ticket("notes", write)) })
	inTheMiddle("third")

	m.hold("")
	ada, kill = run(t, command())
	defer kill()
	for prompt, id := range ids {
		name, _, _ := strings.Cut(prompt, " ")
		ada.answer(name, id, "answer to "+prompt)
		if _, n := m.counts(prompt); n != 1 {
			t.Errorf("the model answered %q %d times", prompt, n)
		}
	}
	for _, name := range names {
		var want []string
		for _, p := range prompts {
			want = append(want, "user: "+name+" "+p, "assistant: answer to "+name+" "+p)
		}
		if said, _ := ada.said(name, "", len(want)); !slices.Equal(said, want) {
			t.Errorf("said in %s:\n%s", name, strings.Join(said, "\n"))
		}
	}
}
