package claudetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Golden compares a session with the recording in a file, and fails the test
// where they first differ. With update it writes the file instead, so a test
// can have a flag for it:
//
//	var update = flag.Bool("update", false, "write golden files")
//
//	claudetest.Golden(t, "testdata/session.ndjson", cli.Recording(), *update)
//
// Ids, times and whatever else differs from run to run do not matter.
func Golden(tb TB, path string, t *Recording, update bool) {
	tb.Helper()
	var got bytes.Buffer
	if _, err := t.stable().WriteTo(&got); err != nil {
		tb.Fatalf("golden recording: %v", err)
		return
	}
	if update {
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, got.Bytes(), 0o644)
		}
		if err != nil {
			tb.Fatalf("golden recording: %v", err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("golden recording: %v (run the test with its flag for updates)", err)
		return
	}
	if problem := firstDifference(string(want), got.String()); problem != "" {
		tb.Errorf("the session differs from %s: %s", path, problem)
	}
}

// firstDifference returns where two recordings diverge, "" if they do not. The
// two directions are compared one by one: how they interleave is chance.
func firstDifference(want, got string) string {
	for _, dir := range []Dir{DirOut, DirIn} {
		if d := differLines(linesOf(want, dir), linesOf(got, dir)); d != "" {
			return fmt.Sprintf("%q, %s", dir, d)
		}
	}
	return ""
}

// linesOf returns the lines of one direction.
func linesOf(text string, dir Dir) []string {
	var all []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, `{"dir":"`+string(dir)+`"`) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

func differLines(w, g []string) string {
	for i := range max(len(w), len(g)) {
		switch {
		case i >= len(w):
			return fmt.Sprintf("line %d: got %s, want the end", i+1, g[i])
		case i >= len(g):
			return fmt.Sprintf("line %d: got the end, want %s", i+1, w[i])
		case w[i] == g[i]:
			continue
		}
		var x, y any
		if jsonx.Unmarshal([]byte(w[i]), &x) != nil || jsonx.Unmarshal([]byte(g[i]), &y) != nil {
			return fmt.Sprintf("line %d: got %s, want %s", i+1, g[i], w[i])
		}
		if d := differs("", x, y); d != "" {
			return fmt.Sprintf("line %d: %s", i+1, d)
		}
	}
	return ""
}

// Forms of what differs from run to run.
var (
	madeUpID  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(msg|toolu|req)_[0-9A-Za-z]+\b`)
	timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	duration  = regexp.MustCompile(`("(?:[a-z_]*_ms|pid)":)\d+(\.\d+)?`)
)

// stable returns a copy of the recording in which everything that differs
// from run to run is replaced: ids by their number in order of appearance,
// times and process ids by zero.
func (t *Recording) stable() *Recording {
	ids := make(map[string]string)
	number := func(id string) string {
		if ids[id] == "" {
			ids[id] = fmt.Sprintf("id-%d", len(ids)+1)
		}
		return ids[id]
	}
	entries := t.Entries()
	for _, e := range entries {
		if e.Dir == DirOut { // first, so that the numbers do not depend on chance
			madeUpID.ReplaceAllStringFunc(string(e.Msg), number)
		}
	}
	out := newRecording()
	for _, e := range entries {
		if e.Dir == DirMeta {
			continue
		}
		text := madeUpID.ReplaceAllStringFunc(string(e.Msg), number)
		text = timestamp.ReplaceAllString(text, "0000-00-00T00:00:00Z")
		text = duration.ReplaceAllString(text, "${1}0")
		out.entries = append(out.entries, RecordingEntry{Dir: e.Dir, Msg: json.RawMessage(text)})
	}
	return out
}
