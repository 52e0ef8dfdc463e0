package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// shortcut is code that is there only because it is faster than what would be used
// without it. It has to earn its place: the whole way of a frame, from the pipe to
// the program and back, must take a tenth more processor time when it is taken out.
type shortcut struct {
	name      string
	file      string
	text      string // occurs once in the file
	instead   string // takes the shortcut out
	benchmark string // of the root package
	n         int
}

// leastSaving is the least that a shortcut must save, as a part of the time with
// it.
const leastSaving = 0.10

// shortcuts are those that were not kept for another reason than time.
func shortcuts() []shortcut {
	const never = `case "\x00":`
	frame := func(name string) string { return "^BenchmarkFrames$/^" + name + "$" }
	const stream, mirror = "^BenchmarkStream$", "^BenchmarkMirror$"
	return []shortcut{
		{"deltas by hand", "message/fast.go", "case typeStream:", never, stream, 1_000_000},
		{"frequent messages by their first bytes, for a delta", "internal/wire/classify.go", "if hasPrefix(line, m.begin) {", "if false {", stream, 1_000_000},
		{"assistant messages by hand", "message/fast.go", "case typeAssistant:", never, frame("assistant"), 300_000},
		{"tool results by hand", "message/fast.go", "case typeUser:", never, frame("tool_result"), 300_000},
		{"one timer for all callbacks", "callback.go", "r.deadlines.add(begin, in, cb)\n\t\tdefer r.deadlines.done(cb)",
			"var cancel context.CancelFunc\n\t\tctx, cancel = context.WithTimeoutCause(ctx, cb.timeout, ErrTimeout)\n\t\tdefer cancel()", frame("hook"), 150_000},
		{"tool calls past the MCP SDK", "tool/conn.go", "c.direct(ctx, message); ok", "c.direct(ctx, nil); ok", frame("tool_call"), 60_000},
		{"mirrored lines by hand", "internal/mirror/frame.go", "usualFrame(line)\n", "usualFrame(nil)\n", mirror, 100_000},
		{"mirrored lines without codes as they are", "internal/mirror/frame.go", "if codes {", "if codes || true {", mirror, 100_000},
	}
}

// errUnearned is the program's error if a shortcut saves too little.
var errUnearned = errors.New("not every shortcut earns its place")

// measureShortcuts takes each shortcut out and prints what that costs: the builds with
// and without it run side by side.
func measureShortcuts(ctx context.Context, b *bench, match func(string) bool) error {
	dir, err := os.MkdirTemp("", "bench-shortcuts-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	with, without := filepath.Join(dir, "with"), filepath.Join(dir, "without")
	if err := buildTests(ctx, b.root, with); err != nil {
		return err
	}
	var unearned error
	for _, s := range shortcuts() {
		if !match(s.name) {
			continue
		}
		overlay, err := s.takenOut(b.root, dir)
		if err != nil {
			return err
		}
		if err := buildTests(ctx, b.root, without, "-overlay", overlay); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		n := b.scale(s.n)
		ours, other, err := ratioBeside(b.rounds, func(swapped bool) (float64, float64, error) {
			of, err := pair(ctx, benchmark(ctx, b.root, with, s.benchmark, n), benchmark(ctx, b.root, without, s.benchmark, n), swapped)
			return float64(of[0].cpu) / float64(n), float64(of[1].cpu) / float64(n), err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		saves := *other / *ours - 1
		if saves < leastSaving {
			unearned = errUnearned
		}
		fmt.Printf("| %s | %s | %s | %+.0f %% |\n", s.name, format(ours, "ns"), format(other, "ns"), saves*100)
	}
	return unearned
}

// takenOut writes an overlay for go build without the shortcut.
func (s *shortcut) takenOut(root, dir string) (overlay string, err error) {
	path, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(s.file)))
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), s.text); n != 1 {
		return "", fmt.Errorf("%s: %s has %q %d times, want once", s.name, s.file, s.text, n)
	}
	changed := filepath.Join(dir, "changed.go")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	overlay = filepath.Join(dir, "shortcut.json")
	return overlay, cmp.Or(err,
		os.WriteFile(changed, []byte(strings.Replace(string(source), s.text, s.instead, 1)), 0o600),
		os.WriteFile(overlay, text, 0o600))
}
