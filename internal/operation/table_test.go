package operation_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/operation"
)

func TestTable(t *testing.T) {
	var names []string
	for op := range operation.All() {
		names = append(names, op.Subtype)
		if op.Methods == "" || (op.Lacks == "") != (op.Has == "") {
			t.Errorf("%s: incomplete: %+v", op.Subtype, op)
		}
		if op.Try != "" && !json.Valid([]byte(op.Try)) {
			t.Errorf("%s: %s is not JSON", op.Subtype, op.Try)
		}
		if operation.Find(op.Subtype) != op {
			t.Errorf("%s is not found", op.Subtype)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("not in order, or twice: %q", names)
	}
	if operation.Find("no_such_thing") != nil {
		t.Error("found what does not exist")
	}
}

// TestRepliesDecodeSoftly gives each type what no CLI should send: a reply of
// another shape costs fields, never the reply.
func TestRepliesDecodeSoftly(t *testing.T) {
	for op := range operation.All() {
		if op.Reply == nil {
			continue
		}
		for _, odd := range []string{`{}`, `null`, `{"a":[1]}`} {
			if err := jsonx.Unmarshal([]byte(odd), op.Reply()); err != nil {
				t.Errorf("%s: %s: %v", op.Subtype, odd, err)
			}
		}
	}
}

// TestVersionsAreMeasured holds the table against docs/compatibility.md, as far
// as that goes: an operation that was added since is not there yet.
func TestVersionsAreMeasured(t *testing.T) {
	text, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), "## Control operations")
	var versions []string
	seen := make(map[string]bool)
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		if cells[0] == "request" {
			versions = cells
		}
		op := operation.Find(cells[0])
		if op == nil {
			continue
		}
		seen[op.Subtype] = true
		lacks, has := "", ""
		for i, version := range versions {
			switch {
			case i > 0 && cells[i] == "-":
				lacks = version
			case i > 0 && cells[i] == "yes" && has == "":
				has = version
			}
		}
		if op.Lacks == "" { // as old as the channel
			op = &operation.Operation{Subtype: op.Subtype, Lacks: "1.0.59", Has: "1.0.63"}
		}
		if lacks != op.Lacks || has != op.Has {
			t.Errorf("%s: measured %s without and %s with it, the table says %s and %s", op.Subtype, lacks, has, op.Lacks, op.Has)
		}
	}
	if len(seen) < 30 {
		t.Errorf("the page names %d operations", len(seen))
	}
}
