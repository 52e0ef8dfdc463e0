package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Every command line of claudectl in a document is one that claudectl understands.
func TestDocumentedCommands(t *testing.T) {
	seen := 0
	for place, c := range allDocumented(t) {
		seen++
		if err := understood(c.args); err != nil {
			t.Errorf("%s: claudectl %s: %v", place, strings.Join(c.args, " "), err)
		}
	}
	if seen < 30 {
		t.Errorf("%d commands", seen)
	}
}

// allDocumented is every command line of claudectl in a document, with its place.
func allDocumented(t *testing.T) iter.Seq2[string, documented] {
	return func(yield func(string, documented) bool) {
		root := os.DirFS("../..")
		err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && name != "." && (d.Name()[0] == '.' || d.Name() == "testdata") {
				return fs.SkipDir
			}
			if filepath.Ext(name) != ".md" || name == "CHANGELOG.md" { // which also has commands of the past
				return nil
			}
			text, err := fs.ReadFile(root, name)
			for _, c := range documentedCommands(string(text)) {
				if !yield(fmt.Sprintf("%s:%d", name, c.line), c) {
					return fs.SkipAll
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestDocumentedCommandsCanFail(t *testing.T) {
	commands := documentedCommands("Use `claudectl serve token --role operator` or `claudectl inspect`.\n" +
		"```sh\nFOO=1 claudectl run --modle x \"two words\" | less # a remark\nexec claudectl fake s.json \"$@\"\n```\n" +
		"```ini\nExecStart=/usr/bin/claudectl serve --listen :80\n```\n```go\nclaudectl := 1\n```\n")
	got := fmt.Sprint(commands)
	want := "[{1 [serve token --role operator] false} {3 [run --modle x two words] true} {4 [fake s.json ] true} {7 [serve --listen :80] false}]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for i, bad := range []bool{true, true, false, false} {
		if err := understood(commands[i].args); (err != nil) != bad {
			t.Errorf("%q: %v", commands[i].args, err)
		}
	}
}

// documented is a command line in a document.
type documented struct {
	line  int
	args  []string
	shell bool // in a block for a shell, not in a sentence or the file of a service
}

var spokenForm = regexp.MustCompile("`(claudectl [^`]+)`")

// documentedCommands finds the command lines of claudectl in a document: those in
// blocks for a shell, those of services, and those in prose that have a flag. Prose
// without one only names a command.
func documentedCommands(text string) (all []documented) {
	n, fence := 0, ""
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		var commands [][]string
		switch service, isService := strings.CutPrefix(line, "ExecStart="); {
		case strings.HasPrefix(line, "```") && fence == "":
			fence = line
		case strings.HasPrefix(line, "```"):
			fence = ""
		case fence == "```sh", isService:
			commands = invocations(service)
		case fence == "":
			for _, form := range spokenForm.FindAllStringSubmatch(line, -1) {
				if strings.Contains(form[1], " -") {
					commands = append(commands, invocations(form[1])...)
				}
			}
		}
		for _, args := range commands {
			all = append(all, documented{n, args, fence == "```sh"})
		}
	}
	return all
}

// invocations are the arguments of claudectl wherever a line of shell runs it.
func invocations(line string) (all [][]string) {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	words := &expand.Config{
		Env:       expand.ListEnviron(),
		CmdSubst:  func(io.Writer, *syntax.CmdSubst) error { return nil },
		ProcSubst: func(*syntax.ProcSubst) (string, error) { return os.DevNull, nil },
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		args, err := expand.Fields(words, call.Args...)
		if err == nil && len(args) > 0 && args[0] == "exec" {
			args = args[1:]
		}
		if err == nil && len(args) > 0 && filepath.Base(args[0]) == "claudectl" {
			all = append(all, args[1:])
		}
		return true
	})
	return all
}

// understood parses the arguments and runs nothing.
func understood(args []string) error {
	c := newConsole(context.Background(), strings.NewReader(""), io.Discard, io.Discard, nil)
	answered := false
	parser, err := newParser(new(commands), c, kong.Exit(func(int) { answered = true }))
	if err != nil {
		return err
	}
	if _, err = parser.Parse(theirs(args)); answered {
		return nil
	}
	return err
}
