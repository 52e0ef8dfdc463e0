package page_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/browser"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/page"
	"github.com/claude-agent-go/claude/store"
)

// realRig serves the real CLI with a scripted model. Its server can be stopped and
// started again at the same address, on the same store.
type realRig struct {
	t       *testing.T
	dir     string
	presets []serve.Preset
	db      store.Fleet
	address string
	hold    chan struct{} // the model writes, but does not finish, until it is closed

	server *serve.Server
	stop   func()
}

func newRealRig(t *testing.T) *realRig {
	t.Helper()
	realcli.Needs(t, "2.1.325", "a fleet")
	r := &realRig{t: t, dir: t.TempDir(), db: store.Files(t.TempDir()), hold: make(chan struct{})}
	path, mark := realcli.Need(t, realcli.Tested()), leak.Processes(t)
	model := claudetest.NewModelFunc(r.reply)
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, _ := realcli.Env(t, url)
	if err := os.WriteFile(r.file(), []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	r.presets = []serve.Preset{{Name: "shop", Roots: []string{r.dir}, Options: &claude.Options{
		CLIPath: path, Env: append(env, mark), Logger: slog.New(slog.DiscardHandler), PartialMessages: true, AllowedTools: []string{"Read", "Edit"},
	}}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.address = "http://" + l.Addr().String()
	r.start(l)
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *realRig) file() string { return filepath.Join(r.dir, "price.go") }

// reply is the model. The CLI edits only what it has read, so it reads first.
func (r *realRig) reply(c *claudetest.ModelCall) claudetest.Reply {
	if c.Side {
		return claudetest.Say("A title")
	}
	call := func(id, tool string, input map[string]string) claudetest.Reply {
		input["file_path"] = r.file()
		return claudetest.UseTools(claudetest.ScriptedCall{ID: "toolu_" + id, Name: tool, Input: input})
	}
	done := "" // the call that has just ended
	if n := len(c.ToolResults); n > 0 {
		done = c.ToolResults[n-1].ToolUseID
	}
	switch {
	case strings.Contains(c.Prompt, "Explain"):
		return claudetest.Say("A cast **truncates**: 0.29 becomes 28 cents, one less than it should be.").Chunks(8, time.Millisecond).Hold(r.hold)
	case strings.Contains(c.Prompt, "Fix") && done == "":
		return call("read", "Read", map[string]string{})
	case done == "toolu_read":
		return call("fix", "Edit", map[string]string{"old_string": oldLine, "new_string": newLine})
	case strings.Contains(c.Prompt, "Rename") && done == "":
		return call("rename", "Edit", map[string]string{"old_string": "func Total(", "new_string": "func Sum("})
	}
	return claudetest.Say("Done with " + done)
}

// start starts a server.
func (r *realRig) start(l net.Listener) {
	r.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	sessions, err := serve.Sessions(r.db, "p", r.presets, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	f, err := fleet.Open(r.t.Context(), fleet.Options{
		Store: r.db, Project: "p", Journal: r.t.TempDir(), Logger: quiet, Session: sessions, Poll: 50 * time.Millisecond,
		Gate: &approval.Options{Patience: time.Hour, Needs: func(_ context.Context, in *hook.PreToolUseInput) (string, bool) {
			return "it changes a file", in.ToolName == "Edit"
		}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if r.server, err = serve.New(f, serve.Options{Records: r.db, Project: "p", Presets: r.presets, Page: page.New, Logger: quiet}); err != nil {
		r.t.Fatal(err)
	}
	web := &http.Server{Handler: r.server}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	r.stop = func() {
		r.stop = func() {}
		_ = r.server.Close()
		_ = web.Close()
		<-ended
		if err := f.Close(context.Background()); err != nil {
			r.t.Error(err)
		}
	}
}

// restart starts the next server where the last one was.
func (r *realRig) restart() {
	r.t.Helper()
	l, err := net.Listen("tcp", strings.TrimPrefix(r.address, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.start(l)
}

// decide decides the card in the inbox by its key.
func decide(t *testing.T, b *browser.Browser) {
	t.Helper()
	b.Press("j")
	b.Wait(t, `document.querySelector(".card")?.classList.contains("here")`)
	b.Wait(t, `performance.now() - Number(document.querySelector(".card").dataset.born ?? 0) > 400`) // cards that have just come ignore clicks
	b.Press("a")
	b.Wait(t, `!document.querySelector(".card") && document.querySelector(".empty h2")?.textContent === "All clear"`)
}

// The whole way in a browser with the real CLI: a prompt, its text while it is
// written, an edit that is shown as a diff in the inbox and decided there, the
// result, and what it cost. Then the server stops while a person is asked, and
// the next one asks the same: the page comes back by itself, and the decision
// lets the call run, once.
func TestRealWholeWay(t *testing.T) {
	r := newRealRig(t)
	b := chromium.Open(t)
	link, err := r.server.LoginLink(t.Context(), r.address, ada)
	if err != nil {
		t.Fatal(err)
	}
	b.Must("Page.navigate", map[string]any{"url": link}, nil)
	b.Wait(t, `document.documentElement.dataset.screen === "inbox"`)

	b.Load(t, r.address+"/new")
	b.Eval(t, `document.querySelector("[name=prompt]").focus()`)
	b.Type("Explain the rounding")
	b.Eval(t, `document.querySelector("form.begin button").click()`)
	b.Wait(t, `document.getElementById("live")?.textContent.includes("A cast truncates: 0.29 becomes")`)
	b.Want(t, `document.querySelectorAll(".item.text").length`, 0)
	close(r.hold)
	b.Wait(t, `document.querySelector(".item.text strong")?.textContent === "truncates" && document.getElementById("live").textContent === ""`)
	b.Wait(t, `document.querySelector(".end")?.textContent.startsWith("answered")`)
	conversation := b.Eval(t, `location.href`).(string)

	b.Eval(t, `document.getElementById("prompt").focus()`)
	b.Type("Fix the rounding")
	b.Press("Enter")
	b.Wait(t, `document.querySelector(".card [data-key-a]")`)
	b.Load(t, r.address+"/")
	b.Wait(t, `document.querySelector(".card .diff mark")?.textContent === "math.Round("`)
	if data, err := os.ReadFile(r.file()); err != nil || string(data) != before {
		t.Errorf("the file was changed before the decision: %s, %v", data, err)
	}
	decide(t, b)
	b.Load(t, conversation)
	b.Wait(t, `document.querySelectorAll(".end").length === 2 && [...document.querySelectorAll(".item.text")].some(i => i.textContent.includes("Done with toolu_fix"))`)
	b.Want(t, `[...document.querySelectorAll(".call .badge")].map(s => s.textContent).join()`, "ok,ok")
	b.Want(t, `[...document.querySelectorAll(".call .diff .plus, .call .counts .plus")].some(s => s.textContent === "+1")`, true)
	b.Want(t, `/\$0\.\d*[1-9]/.test(document.querySelector(".head .facts").textContent)`, true)
	fixed := strings.Replace(before, oldLine, newLine, 1)
	if data, err := os.ReadFile(r.file()); err != nil || string(data) != fixed {
		t.Errorf("the file is %s, %v", data, err)
	}

	b.Eval(t, `document.getElementById("prompt").focus()`)
	b.Type("Rename it")
	b.Press("Enter")
	b.Wait(t, `document.querySelector(".card [data-key-a]")`)
	b.Load(t, r.address+"/")
	b.Wait(t, `document.querySelector(".card .diff")`)
	r.stop()
	b.Wait(t, `!document.getElementById("connection").hidden`)
	b.Want(t, `document.querySelectorAll(".card").length`, 1) // what is known stays in sight
	r.restart()
	b.Eval(t, `dispatchEvent(new Event("online"))`)
	b.Wait(t, `document.getElementById("connection").hidden && document.querySelector(".card .diff")`)
	decide(t, b)
	b.Load(t, conversation)
	b.Wait(t, `document.querySelectorAll(".end").length === 3 && [...document.querySelectorAll(".item.text")].some(i => i.textContent.includes("Done with toolu_rename"))`)
	b.Want(t, `[...document.querySelectorAll(".call .badge")].map(s => s.textContent).join()`, "ok,ok,ok")
	if data, err := os.ReadFile(r.file()); err != nil || string(data) != strings.Replace(fixed, "func Total(", "func Sum(", 1) {
		t.Errorf("the file is %s, %v", data, err)
	}
	b.Load(t, r.address+"/cost?by=model")
	b.Want(t, `document.querySelector("table.cost tfoot td.num").textContent`, "3")
	stopped := []string{"ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "503 (Service Unavailable)"} // as the server stops
	for _, c := range b.Complaints() {
		if !slices.ContainsFunc(stopped, func(text string) bool { return strings.Contains(c, text) }) && !strings.HasPrefix(c, "loads {") {
			t.Errorf("the browser complains: %s", c)
		}
	}

}
