package page_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/serve/api"
)

// received is an event as a browser receives it.
type received struct {
	Type string `json:"type"`
	Data string `json:"data"`
}

// text is the text that an event adds.
func (e received) text(t *testing.T) (text string) {
	var data api.Event
	if err := json.Unmarshal([]byte(e.Data), &data); err != nil {
		t.Errorf("%s: %v", e.Data, err)
	}
	for _, b := range data.Partial {
		text += b.Text
	}
	if data.Delta != nil {
		text += data.Delta.Text
	}
	return text
}

// record reads the stream of a conversation until an event, which is the last.
func (r *rig) record(c *http.Client, path string, last func(received) bool) (all []received) {
	r.t.Helper()
	reply, err := c.Get(r.http.URL + strings.Replace(path, "/c/", "/v1/conversations/", 1) + "/events?after=0")
	if err != nil {
		r.t.Error(err)
		return nil
	}
	defer reply.Body.Close()
	lines := bufio.NewScanner(reply.Body)
	lines.Buffer(nil, 1<<20)
	var now received
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			now.Type = value
		case "data":
			now.Data = value
		case "":
			if now.Type != "" {
				if all = append(all, now); last(now) {
					return all
				}
			}
			now = received{}
		}
	}
	r.t.Errorf("the stream ended after %d events: %v", len(all), lines.Err())
	return nil
}

// The script of the stream shows what the server has sent, wherever the stream is cut.
// The streams are recorded here: one from the beginning, one that is joined in the
// middle of a text, and one with thoughts and a call.
func TestEventsScript(t *testing.T) {
	long.Test(t, "needs node")
	r := newRig(t)
	c := r.client(ada)
	ends := func(e received) bool { return e.Type == "turn" }
	text, calls := r.begin("shop-api", "Explain the rounding"), r.begin("shop-api", "Test it")
	var reading sync.WaitGroup
	var mu sync.Mutex
	streams := map[string][]received{}
	for name, path := range map[string]string{"whole": text, "calls": calls} {
		begun := make(chan struct{})
		reading.Go(func() {
			so, ready := "", sync.OnceFunc(func() { close(begun) })
			all := r.record(c, path, func(e received) bool {
				if so += e.text(r.t); len(so) > 10 {
					ready()
				}
				return ends(e)
			})
			ready()
			mu.Lock()
			defer mu.Unlock()
			streams[name] = all
		})
		<-begun
	}
	release := sync.OnceFunc(func() { close(r.hold) })
	joined := r.record(c, text, func(e received) bool {
		if e.Type == "partial" {
			release()
		}
		return ends(e)
	})
	reading.Wait()
	streams["joined"] = joined
	for name, all := range streams {
		if !slices.ContainsFunc(all, func(e received) bool { return e.Type == "delta" || e.Type == "partial" }) {
			t.Fatalf("%s has no text that is being written", name)
		}
	}

	dir := t.TempDir()
	data, err := json.Marshal(streams)
	if err != nil {
		t.Fatal(err)
	}
	_, script := get(t, c, r.http.URL+"/static/events.js")
	_, types := get(t, c, r.http.URL+"/static/events.d.ts")
	for name, content := range map[string]string{"streams.json": string(data), "events.mjs": script, "events.d.mts": types} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var exports []string
	for _, m := range regexp.MustCompile(`(?m)^export (?:const|function) (\w+)`).FindAllStringSubmatch(types, -1) {
		exports = append(exports, m[1])
	}
	slices.Sort(exports)
	out, err := exec.CommandContext(t.Context(), "node", "testdata/events.mjs", dir).CombinedOutput()
	if want := "many cuts, exports " + strings.Join(exports, ",") + "\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s\nwant %s", err, out, want)
	}
	checkTypes(t, dir)
}

var typescript = npm.Package{Name: "typescript", Version: "5.9.3", Has: "bin/tsc"}

// checkTypes compiles a page that uses the script with its types.
func checkTypes(t *testing.T, dir string) {
	t.Helper()
	user, err := os.ReadFile("testdata/events_types.mts")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "user.mts"), user, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", typescript.Path(npm.Need(t, typescript), typescript.Has), "--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom,dom.iterable", "user.mts")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
