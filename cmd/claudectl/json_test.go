package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// ownForm are the commands whose output --json does not change, with the reason.
var ownForm = map[string]string{
	"acp":        "speaks the protocol of editors",
	"fake":       "speaks the protocol of the CLI",
	"record":     "passes on what the CLI writes",
	"completion": "prints a script",
}

// Every command writes JSON with --json, or is known not to. A command that fails
// here, because it needs a session or a CLI, writes its error as an object.
func TestEveryCommandWritesJSON(t *testing.T) {
	recording := filepath.Join("..", "..", "internal", "inspect", "testdata", "shapes.ndjson")
	if _, err := os.Stat(recording); err != nil {
		t.Fatal(err)
	}
	lines := map[string][]string{
		"inspect": {recording}, "run": {"hello"}, "sessions rename": {"0000", "title"}, "sessions tag": {"0000", "t"}, "sessions show": {"0000"},
		"sessions archive": {"0000"}, "sessions unarchive": {"0000"}, "sessions fork": {"0000"}, "sessions delete": {"0000", "--yes"}, "sessions resume": {"0000"},
		"sessions export": {"0000", "--store", t.TempDir()}, "sessions import": {"0000", "--store", t.TempDir()}, "serve token": {"bot"}, "serve health": {"--listen", "127.0.0.1:1"},
		"serve start": {"--listen", "0.0.0.0:1"}, // refused; startServe reads what it prints when it starts
	}
	seen := 0
	for _, command := range leaves(t) {
		name := command.Path()
		if ownForm[name] != "" {
			continue
		}
		seen++
		t.Run(name, func(t *testing.T) {
			got := invoke(t, "", append(append(strings.Fields(name), lines[name]...), "--json")...)
			if got.code == int(exitUsage) && name != "serve start" {
				t.Errorf("the test does not know how to call it: %s", got.stderr)
			}
			if (got.code == 0) != (got.stderr == "") && name != "doctor" {
				t.Errorf("exit code %d and %q on standard error", got.code, got.stderr)
			}
			for line := range strings.Lines(got.stdout + got.stderr) {
				if !json.Valid([]byte(line)) {
					t.Errorf("not JSON: %q", line)
				}
			}
		})
	}
	if seen < 15 {
		t.Errorf("%d commands", seen)
	}
}

// The help of every command, and of every command that has commands of its own, has
// all flags that can follow it.
func TestHelpListsFlags(t *testing.T) {
	for _, command := range leaves(t) {
		names := [][]string{strings.Fields(command.Path())}
		if command.Parent.DefaultCmd == command {
			names = append(names, strings.Fields(command.Parent.Path()))
		}
		for _, name := range names {
			help := invoke(t, "", append(name, "--help")...)
			for _, flag := range command.Flags {
				if !flag.Hidden && !strings.Contains(strings.ReplaceAll(help.stdout, "--[no-]", "--"), "--"+flag.Name) {
					t.Errorf("claudectl %s --help does not list --%s", strings.Join(name, " "), flag.Name)
				}
			}
		}
	}
}

// leaves are the commands that run.
func leaves(t *testing.T) (all []*kong.Node) {
	t.Helper()
	parser, err := newParser(new(commands), newConsole(t.Context(), nil, nil, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model.Leaves(true)
}
