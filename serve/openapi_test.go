package serve_test

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

var update = flag.Bool("update", false, "write testdata/openapi.json")

// anywhere are problems that a request may meet at any path, and that the document
// leaves out.
var anywhere = []string{"closing", "store-silent", "internal", "misdirected", "method-not-allowed", "cross-site"}

// wantDocumented wants the OpenAPI document to list a problem for its endpoint. Every
// test that makes requests checks that.
func (c *client) wantDocumented(method, path string, body []byte) {
	c.t.Helper()
	var p api.Problem
	if err := json.Unmarshal(body, &p); err != nil {
		c.t.Fatalf("%v: %s", err, body)
	}
	if slices.Contains(anywhere, strings.TrimPrefix(p.Type, "/problems/")) {
		return
	}
	for _, e := range c.documented.endpoints(c.t) {
		op, ok := e.methods[strings.ToLower(method)]
		if !ok || !e.path.MatchString(path) {
			continue
		}
		if said := op.Responses[strconv.Itoa(p.Status)].Description; !slices.Contains(strings.Split(said, "; or: "), p.Title) {
			c.t.Errorf("%s %s may answer %d %q, and the document says %q", method, e.template, p.Status, p.Title, said)
		}
	}
}

// documented holds the problems in the OpenAPI document. A test reads it once, and only
// if it meets a problem. It is safe for concurrent use.
type documented struct {
	once sync.Once
	all  []documentedPath
}

type documentedPath struct {
	template string
	path     *regexp.Regexp
	methods  map[string]struct {
		Responses map[string]struct{ Description string }
	}
}

func (d *documented) endpoints(t *testing.T) []documentedPath {
	t.Helper()
	d.once.Do(func() {
		document, err := os.ReadFile("testdata/openapi.json")
		if err != nil {
			t.Error(err)
			return
		}
		var doc struct {
			Paths map[string]map[string]struct {
				Responses map[string]struct{ Description string }
			}
		}
		if err := json.Unmarshal(document, &doc); err != nil {
			t.Error(err)
		}
		parameter := regexp.MustCompile(`\{\w+\}`)
		for template, methods := range doc.Paths {
			path := regexp.MustCompile("^" + parameter.ReplaceAllString(template, "[^/]+") + "$")
			d.all = append(d.all, documentedPath{template, path, methods})
		}
	})
	return d.all
}

// The OpenAPI document equals the golden file, so that every change of the API shows.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	got := (&client{rig: r}).do("GET", "/openapi.json", nil).body
	const file = "testdata/openapi.json"
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got)+"\n" {
		t.Errorf("the document differs from %s: look at the difference, and write it with -update", file)
	}
	for path, methods := range openAPI(&client{rig: r}).Paths {
		for method, op := range methods {
			if op.Role != "" && !op.Role.Valid() {
				t.Errorf("%s %s needs %q", method, path, op.Role)
			}
		}
	}
}

// Generators of clients stumble over schemas that are just true, operations without an
// id, and a cookie that has another name; people over members without a description.
func TestOpenAPIForGenerators(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), func(o *serve.Options) { o.Port = 8080 })
	var doc struct {
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct{ OperationID string }
		Parts   struct {
			Schemas         map[string]json.RawMessage
			SecuritySchemes map[string]struct{ Name string }
		} `json:"components"`
	}
	if err := json.Unmarshal((&client{rig: r}).do("GET", "/openapi.json", nil).body, &doc); err != nil {
		t.Fatal(err)
	}
	if got := doc.Parts.SecuritySchemes["cookie"].Name; got != "claude-serve-8080" {
		t.Errorf("the cookie is %q", got)
	}
	if len(doc.Servers) != 1 || doc.Servers[0].URL != "/" {
		t.Errorf("the servers are %+v", doc.Servers)
	}
	seen := make(map[string]bool)
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if op.OperationID == "" || seen[op.OperationID] {
				t.Errorf("%s %s has the id %q, like another or like none", method, path, op.OperationID)
			}
			seen[op.OperationID] = true
		}
	}
	members := 0
	for name, raw := range doc.Parts.Schemas {
		var one struct {
			Description string
			Properties  map[string]map[string]any
		}
		if err := json.Unmarshal(raw, &one); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if one.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for member, schema := range one.Properties {
			if members++; schema["description"] == nil {
				t.Errorf("%s.%s has no description", name, member)
			}
			for _, inner := range []string{"items", "additionalProperties"} {
				if _, simply := schema[inner].(bool); simply {
					t.Errorf("%s.%s: %s is just true or false", name, member, inner)
				}
			}
		}
	}
	if members < 200 {
		t.Errorf("the document has only %d members", members)
	}
}
