package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
)

const root = "../../.."

// TestRealParity holds the tables against the official SDK. It fails on what
// is unexplained, and on a page that was not written again.
func TestRealParity(t *testing.T) {
	long.Test(t, "needs the official SDK from npm")
	page, problems, err := compare(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
	committed, err := os.ReadFile(root + "/docs/parity.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(committed) != page {
		t.Error("docs/parity.md is old: go run ./internal/test/parity -write")
	}
}

// TestPageIsCurrent compares our side with the names that the committed page
// lists for the official SDK, so that a renamed function here is noticed
// without the package from npm.
func TestPageIsCurrent(t *testing.T) {
	committed, err := os.ReadFile(root + "/docs/parity.md")
	if err != nil {
		t.Fatal(err)
	}
	theirs := readPage(string(committed))
	if len(theirs.options) < 40 || len(theirs.methods) < 20 {
		t.Fatalf("the page lists %d options and %d methods", len(theirs.options), len(theirs.methods))
	}
	ours, err := readSource(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	page, problems := report(theirs, ours)
	for _, problem := range problems {
		t.Error(problem)
	}
	if len(problems) == 0 && string(committed) != page {
		t.Error("docs/parity.md is old: go run ./internal/test/parity -write")
	}
}

// readPage takes the official names from the first column of a page.
func readPage(page string) *surface {
	var s surface
	sections := map[string]*[]string{
		"Options": &s.options, "Control requests": &s.subtypes, "Hook events": &s.hooks, "Messages": &s.messages, "Methods of a query": &s.methods,
		"Functions and classes": &s.exports, "Constants": &s.consts, "Other entry points": &s.entries,
	}
	var in *[]string
	for line := range strings.Lines(page) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			in = sections[strings.TrimSpace(title)]
		}
		if rest, ok := strings.CutPrefix(line, "| `"); ok && in != nil {
			name, _, _ := strings.Cut(rest, "`")
			*in = append(*in, name)
		}
	}
	return &s
}

func TestDriftIsFound(t *testing.T) {
	ours, err := readSource(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	theirs := &surface{options: []string{"model", "brandNew"}, subtypes: []string{"new_request"}, hooks: []string{"NewEvent", "Stop"}, messages: []string{"new_message", "system/new_thing", "result/success"}, methods: []string{"newMethod"}, exports: []string{"newFunction", "query"}, consts: []string{"NEW_LIST"}, entries: []string{"bridge/newFunction"}}
	_, problems := report(theirs, ours)
	for _, want := range []string{
		"Options: brandNew is neither", "Options: abortController is gone", "Control requests: new_request is neither", "Control requests: set_model is gone",
		"Hook events: NewEvent is neither", "Hook events: PreToolUse is gone", "Messages: new_message is neither", "Messages: system/new_thing is neither",
		"Messages: system/worker_shutting_down is gone", "Methods of a query: newMethod is neither", "Functions and classes: newFunction is neither", "Functions and classes: tool is gone",
		"Constants: NEW_LIST is neither", "Constants: HOOK_EVENTS is gone", "Other entry points: bridge/newFunction is neither", "Other entry points: sdk-tools is gone",
	} {
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.HasPrefix(p, want) }) {
			t.Errorf("%q was not found", want)
		}
	}
	for _, found := range problems {
		if strings.Contains(found, "Options: model ") || strings.Contains(found, "Stop ") && !strings.Contains(found, "gone") {
			t.Errorf("found %q", found)
		}
	}
	delete(ours.names, "Options.Model")
	_, problems = report(theirs, ours)
	for _, want := range []string{"Options: model is neither offered nor explained", "Python: options: model is said to be Options.Model, which does not exist"} {
		if !slices.Contains(problems, want) {
			t.Errorf("%q was not found in %q", want, problems)
		}
	}
}

func TestReadSurface(t *testing.T) {
	d := &declared{text: `
export declare type Options = {
    /**
     * not: this
     */
    one?: string;
    two: {
        inner: number;
    };
};

export declare type All = A | Both;

declare type Both = B | C;

export declare type A = {
    type: 'system';
    subtype: 'a';
};

declare type B = {
    type: 'result';
    subtype: 'x' | 'y';
};

declare type C = {
    type: 'user';
};

export declare const LIST: readonly ['p', 'q'];

export declare interface Query extends Other {
    /**
     * not(this)
     */
    first(): void;
    second(_a: {
        inner(): void;
    }): void;
}

export declare function make(): Query;

export declare class Thing {
}
`}
	if got := d.members("Options"); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("members %q", got)
	}
	if got := d.union("All"); !slices.Equal(got, []string{"A", "B", "C"}) {
		t.Errorf("union %q", got)
	}
	if got := d.literals("B", "subtype"); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("literals %q", got)
	}
	if got := d.tuple("LIST"); !slices.Equal(got, []string{"p", "q"}) {
		t.Errorf("tuple %q", got)
	}
	if got := d.methods("Query"); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("methods %q", got)
	}
	if got := d.exports(); !slices.Equal(got, []string{"make", "Thing"}) {
		t.Errorf("exports %q", got)
	}
	if got := d.consts(); !slices.Equal(got, []string{"LIST"}) {
		t.Errorf("consts %q", got)
	}
	entries := otherEntries(map[string]string{
		".": d.text, "./core": "export { tool } from './sdk.js'\n", "./types": "export type A = string\n", "./types.js": "export type A = string\n",
		"./extract": "export function pull(p: string): string\n", "./bridge": "export declare function attach(): void;\nexport declare const READY: boolean;\n",
	})
	slices.Sort(entries)
	if !slices.Equal(entries, []string{"bridge/READY", "bridge/attach", "extract/pull", "types"}) {
		t.Errorf("entry points %q", entries)
	}
	if _, err := readSurface(map[string]string{".": d.text}); err == nil {
		t.Error("a nearly empty file is taken for the declarations")
	}
}
