package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// prefix begins the names of seeds that come from recordings.
const prefix = "recorded-"

// maxSession is the longest session that becomes a seed. Fuzzers work best on
// small ones.
const maxSession = 6 << 10

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write replaces the seeds of a module.
func write(root string) error {
	seeds, err := seeds(root)
	if err != nil {
		return err
	}
	for _, pkg := range []string{"", "*", "*/*"} {
		old, _ := filepath.Glob(filepath.Join(root, pkg, "testdata", "fuzz", "*", prefix+"*")) // a fixed pattern
		for _, path := range old {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	size := 0
	for name, text := range seeds {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return err
		}
		size += len(text)
	}
	fmt.Printf("%d seeds, %d bytes\n", len(seeds), size)
	return nil
}

// session is the conversation in a recording.
type session struct {
	name    string
	in, out []string // to and from the CLI
}

func read(path string) (session, error) {
	data, err := os.ReadFile(path)
	s := session{name: strings.TrimSuffix(filepath.Base(path), ".ndjson")}
	for line := range bytes.Lines(data) {
		var entry struct {
			Dir string          `json:"dir"`
			Msg json.RawMessage `json:"msg"`
		}
		if err := json.Unmarshal(line, &entry); err != nil {
			return s, fmt.Errorf("%s: %w", path, err)
		}
		switch {
		case bytes.HasPrefix(entry.Msg, []byte(`{"_`)): // what was not JSON, and the end
		case entry.Dir == "in":
			s.in = append(s.in, string(entry.Msg))
		case entry.Dir == "out":
			s.out = append(s.out, string(entry.Msg))
		}
	}
	return s, err
}

// seeds returns the files of all targets by their paths in the module.
func seeds(root string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(root, "claudetest", "testdata", "sessions", "*.ndjson"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no recordings below %s: %v", root, err)
	}
	files := make(map[string]string)
	add := func(pkg, target, name string, args ...string) {
		path := fmt.Sprintf("%s/testdata/fuzz/%s/%s%s", pkg, target, prefix, name)
		files[strings.TrimPrefix(path, "./")] = "go test fuzz v1\n" + strings.Join(args, "\n") + "\n"
	}
	frames, rpc := make(map[string]string), make(map[string]string)
	for i, path := range paths {
		s, err := read(path)
		if err != nil {
			return nil, err
		}
		for _, line := range slices.Concat(s.in, s.out) {
			keepShortest(frames, kind(line), line)
			if message := mcpMessage(line); message != "" {
				keepShortest(rpc, method(message), message)
			}
		}
		in, out := strings.Join(s.in, "\n")+"\n", strings.Join(s.out, "\n")+"\n"
		if len(in) <= maxSession {
			add("host", "FuzzServe", s.name, text("string", in))
		}
		if len(out) <= maxSession {
			add(".", "FuzzSession", s.name, text("[]byte", out), "bool(true)", fmt.Sprintf("bool(%v)", i%2 == 0))
		}
		if len(out) <= maxSession && i%4 == 0 {
			add("internal/ndjson", "FuzzReader", s.name, text("[]byte", out), fmt.Sprintf("byte('\\x%02x')", i), "uint16(0)")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(frames)) {
		add("internal/wire", "FuzzParse", name, text("[]byte", frames[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(rpc)) {
		add("tool", "FuzzHandle", name, text("[]byte", rpc[name]), "bool(true)")
	}
	return files, nil
}

func text(kind, value string) string { return fmt.Sprintf("%s(%q)", kind, value) }

func keepShortest(all map[string]string, key, value string) {
	if old, ok := all[key]; !ok || len(value) < len(old) {
		all[key] = value
	}
}

// envelope is as much of a frame as shows its kind.
type envelope struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Request struct {
		Subtype string          `json:"subtype"`
		Message json.RawMessage `json:"message"`
	} `json:"request"`
	Response struct {
		Subtype string `json:"subtype"`
	} `json:"response"`
}

// kind names the kind of a frame, fit for a file.
func kind(line string) string {
	var e envelope
	_ = json.Unmarshal([]byte(line), &e) // an odd frame is a kind of its own
	return fileName(e.Type, e.Subtype, e.Request.Subtype, e.Response.Subtype)
}

// mcpMessage returns the JSON-RPC message in a frame, "" if there is none.
func mcpMessage(line string) string {
	var e envelope
	_ = json.Unmarshal([]byte(line), &e)
	return string(e.Request.Message)
}

func method(message string) string {
	var m struct {
		Method string `json:"method"`
	}
	_ = json.Unmarshal([]byte(message), &m)
	return fileName("mcp", m.Method)
}

func fileName(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, strings.Join(parts, "-"))
}
