package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/npm"
)

// TestGenerate shows what happens to each shape of the schema.
func TestGenerate(t *testing.T) {
	code, err := Generate([]byte(`{"$defs":{
		"SessionId":{"type":"string"},
		"Word":{"oneOf":[{"type":"string","const":"in_use"},{"type":"string","title":"other"}]},
		"Code":{"anyOf":[{"type":"integer","const":-1,"title":"Parse error"}]},
		"Any":{"anyOf":[{"type":"string"},{"type":"null"}]},
		"Thing":{"type":"object","required":["id","list"],"x-side":"agent","x-method":"thing/do","properties":{
			"id":{"allOf":[{"$ref":"#/$defs/SessionId"}]},
			"list":{"type":"array","items":{"$ref":"#/$defs/Word"}},
			"note":{"type":["string","null"]},
			"flag":{"type":"boolean"},
			"other":{"anyOf":[{"$ref":"#/$defs/Pick"},{"type":"null"}]},
			"raw":{}}},
		"Pick":{"oneOf":[
			{"type":"object","properties":{"type":{"type":"string","const":"a"}},"allOf":[{"$ref":"#/$defs/Thing"}]},
			{"title":"rest","allOf":[{"$ref":"#/$defs/Mixed"}]}]},
		"Mixed":{"type":"object","properties":{"common":{"type":"string"}},"required":["common"],"anyOf":[
			{"type":"object","properties":{"kind":{"type":"string","const":"x"},"value":{"type":"boolean"}}},
			{"type":"object","properties":{"kind":{"type":"string"},"value":{"type":"string"}}}]},
		"Hidden":{"type":"object","x-docs-ignore":true}
	}}`), "a test")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(code)), " ")
	for _, want := range []string{
		`MethodAgentThingDo = "thing/do"`,
		"type SessionID string", `WordInUse Word = "in_use"`, "CodeParseError Code = -1", "type Any = json.RawMessage",
		"ID SessionID `json:\"id\"`", "List []Word `json:\"list\"`", "Note *string `json:\"note,omitzero\"`",
		"Flag bool `json:\"flag,omitzero\"`", "Other *Pick `json:\"other,omitzero\"`", "Raw json.RawMessage `json:\"raw,omitzero\"`",
		"type Pick struct { A *Thing `json:\"-\"` Rest *Mixed `json:\"-\"`", `marshalTagged("type", "a", v.A)`,
		"Common string `json:\"common\"` Kind string `json:\"kind,omitzero\"` Value json.RawMessage `json:\"value,omitzero\"`",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, code)
		}
	}
	if strings.Contains(text, "Hidden") {
		t.Error("an internal type of the schema is generated")
	}
}

// TestGenerated compares the committed types with what the published schema
// gives.
func TestGenerated(t *testing.T) {
	dir := npm.Need(t, sdk())
	want, err := generated(dir)
	if err != nil {
		t.Fatal(err)
	}
	root, err := npm.Root()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(output)))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what the schema gives: go run ./acp/internal/schemagen", output)
	}
}
