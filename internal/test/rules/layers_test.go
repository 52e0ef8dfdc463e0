package rules

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
)

// layers is the order of the packages, lowest first. A package imports only
// packages of strictly lower layers.
func layers() [][]string {
	return [][]string{
		{"internal/colour", "internal/durable", "internal/feed", "internal/filelock", "internal/jsonx", "internal/matcher", "internal/ndjson", "internal/private", "internal/regular", "internal/terminal", "internal/uuid", "internal/webpush", "internal/docs", "internal/release/platform", "internal/test/long", "internal/test/need", "serve/api", "store/internal/rule", "telemetry", "fleet/internal/shrink"},
		{"internal/edit", "internal/markdown", "serve/client", "serve/internal/openapi", "internal/schema", "internal/scratch", "internal/secret", "internal/transcript", "internal/test/npm", "internal/acp/schema", "serve/internal/agui"},
		{"internal/form", "internal/proc", "permission", "store", "internal/test/officialsdk", "internal/acp/rpc"},
		{"control", "internal/storefault", "internal/recordform", "internal/show", "permission/policy", "store/storeimpl", "workspace"},
		{"message", "hook", "internal/removal", "workspace/blobtest", "fleet/internal/outcomelog", "fleet/internal/dayspend", "fleet/internal/ratelimit", "fleet/internal/plan", "fleet/internal/slots", "serve/internal/recordio"},
		{"fleet/internal/intake", "internal/brief", "internal/price", "internal/wire", "internal/operation", "internal/lease", "history", "acp/internal/translate", "serve/internal/login"},
		{"internal/peer", "internal/inbox", "internal/mirror", "internal/restore"},
		{".", "host", "egress"},
		{"tool", "claudetest", "store/storetest", "approval"},
		{"internal/demo", "internal/inspect", "internal/tee", "fleet", "acp", "sandbox"},
		{"serve/internal/eventlog", "internal/acp/drive"},
		{"serve", "acp/acptest"},
		{"serve/page", "serve/oidclogin"},
		{"cmd/...", "examples/...", "internal/test/parity", "internal/test/faults"},
	}
}

// separateLayers are packages outside the layers, with what they may import of the
// module. Only the tests may import them.
func separateLayers() map[string][]string {
	return map[string][]string{
		"acp/internal/schemagen":        {"internal/test/npm"},
		"internal/release":              {"internal/release/platform"},
		"internal/test/acpscenes":       {"claudetest"},
		"internal/test/cputime":         nil,
		"internal/test/bench":           {".", "acp", "claudetest", "egress", "fleet", "history", "hook", "internal/acp/drive", "internal/acp/schema", "internal/proc", "internal/test/cputime", "internal/test/npm", "internal/test/officialsdk", "internal/test/realcli", "internal/uuid", "message", "permission", "sandbox", "serve", "serve/api", "serve/page", "store", "tool", "workspace"},
		"internal/test/browser":         {"internal/test/long", "internal/test/npm"},
		"internal/test/conformance":     nil,
		"internal/test/chaos":           {".", "claudetest", "internal/ndjson", "internal/test/harness", "internal/test/realcli", "internal/wire", "permission"},
		"internal/test/corpus":          nil,
		"internal/test/e2e":             nil,
		"internal/test/fleetload":       {".", "claudetest", "fleet", "store"},
		"internal/test/gate":            {"internal/test/long"},
		"internal/test/harness":         {".", "internal/jsonx", "message"},
		"internal/test/knots":           nil,
		"internal/test/kills":           {"internal/test/takeover", "store"},
		"internal/test/leak":            nil,
		"internal/test/mutation":        {"internal/test/long"},
		"internal/test/pushed":          nil,
		"internal/test/rules":           nil,
		"internal/test/inject":          {"internal/test/long"},
		"internal/test/realcli":         {"internal/test/long"},
		"internal/test/realstore":       {".", "approval", "claudetest", "fleet", "history", "internal/test/harness", "internal/test/leak", "internal/test/npm", "internal/test/realcli", "internal/uuid", "permission", "store"},
		"internal/test/systems":         {"internal/release/platform"},
		"internal/test/steady":          {"internal/test/long"},
		"internal/test/wine":            nil,
		"internal/test/server":          {"internal/test/long", "internal/test/npm"},
		"internal/test/watched":         {"store"},
		"internal/test/realcli/install": {"internal/test/realcli"},
		"internal/test/takeover":        {".", "approval", "claudetest", "fleet", "internal/jsonx", "internal/test/harness", "internal/test/leak", "internal/test/realcli", "permission", "store"},
		"internal/test/compat":          {".", "claudetest", "control", "hook", "internal/operation", "internal/test/harness", "internal/test/leak", "internal/test/long", "internal/test/realcli", "message", "permission"},
	}
}

// thirdPartyHomes lists the packages that may import a third-party module.
func thirdPartyHomes() map[string][]string {
	return map[string][]string{
		"github.com/go-json-experiment/json":     {"internal/jsonx"},
		"golang.org/x/sys":                       {"internal/durable", "internal/proc", "internal/filelock", "internal/private", "internal/test/bench"},
		"github.com/google/jsonschema-go":        {"internal/schema"},
		"github.com/modelcontextprotocol/go-sdk": {"tool"},
		"github.com/alecthomas/kong":             {"cmd/claudectl"},
		"golang.org/x/text":                      {"internal/transcript"},
		"mvdan.cc/sh/v3":                         {"permission/policy"},
		"github.com/yuin/goldmark":               {"internal/markdown"},
		"github.com/sergi/go-diff":               {"internal/show"},
		"rsc.io/qr":                              {"cmd/claudectl"},
		"github.com/coder/websocket":             {"serve"},
		"github.com/coreos/go-oidc/v3":           {"serve/oidclogin"},
		"golang.org/x/oauth2":                    {"serve/oidclogin"},
	}
}

func layerRules() []rule {
	return []rule{{
		name:  "layers",
		check: checkLayers,
		bad: fstest.MapFS{
			"internal/wire/up.go":                source("package wire", `import _ "`+modulePath+`/internal/peer"`),
			"hook/sideways.go":                   source("package hook", `import _ "`+modulePath+`/message"`),
			"internal/jsonx/root.go":             source("package jsonx", `import _ "`+modulePath+`"`),
			"internal/test/realcli/own.go":       source("package realcli", `import _ "`+modulePath+`/internal/jsonx"`),
			"session.go":                         source("package claude", `import _ "`+modulePath+`/internal/test/realcli"`),
			"homeless/h.go":                      source("package homeless"),
			"permission/lost.go":                 source("package permission", `import _ "`+modulePath+`/nowhere"`),
			"permission/down.go":                 source("package permission", `import _ "`+modulePath+`/internal/jsonx"`),
			"permission/up_test.go":              source("package permission_test", `import _ "`+modulePath+`/claudetest"`),
			"cmd/claudectl/main.go":              source("package main", `import _ "`+modulePath+`/host"`),
			"internal/test/realcli/install/m.go": source("package main", `import _ "`+modulePath+`/internal/test/realcli"`),
		},
		want: []string{
			"internal/wire/up.go:2:8: internal/wire may not import internal/peer",
			"hook/sideways.go:2:8: hook may not import message",
			"internal/jsonx/root.go:2:8: internal/jsonx may not import .",
			"internal/test/realcli/own.go:2:8: internal/test/realcli may not import internal/jsonx",
			"session.go:2:8: . may not import internal/test/realcli",
			"homeless is in no layer: say where it belongs",
			"nowhere is in no layer: say where it belongs",
		},
	}, {
		name:  "third parties",
		check: checkThirdParties,
		bad: fstest.MapFS{
			"session.go":          source("package claude", `import _ "github.com/go-json-experiment/json/jsontext"`),
			"message/new.go":      source("package message", `import _ "example.com/handy"`),
			"internal/jsonx/j.go": source("package jsonx", `import _ "github.com/go-json-experiment/json/jsontext"`),
			"internal/proc/p.go":  source("package proc", `import _ "golang.org/x/sys/windows"`, `import _ "go/ast"`),
			"internal/proc/q.go":  source("package proc", `import _ "golang.org/x/system"`),
			"message/new_test.go": source("package message", `import _ "github.com/google/go-cmp/cmp"`),
		},
		want: []string{
			"session.go:2:8: github.com/go-json-experiment/json belongs in internal/jsonx only",
			"message/new.go:2:8: example.com/handy is not a dependency of this project",
			"internal/proc/q.go:2:8: golang.org/x/system is not a dependency of this project",
		},
	}}
}

func checkLayers(m *module) []string {
	var complaints []string
	seen := make(map[string]bool)
	for _, f := range m.sources() {
		if !known(f.dir()) && !seen[f.dir()] {
			seen[f.dir()] = true
			complaints = append(complaints, f.dir()+" is in no layer: say where it belongs")
		}
		for _, spec := range f.ast.Imports {
			to, own := ownPackage(importPath(spec))
			if !own || !known(f.dir()) {
				continue
			}
			if !known(to) {
				complaints = append(complaints, fmt.Sprintf("%s: %s is in no layer: say where it belongs", m.at(spec), to))
			} else if !mayImport(f.dir(), to) {
				complaints = append(complaints, fmt.Sprintf("%s: %s may not import %s", m.at(spec), f.dir(), to))
			}
		}
	}
	return complaints
}

func checkThirdParties(m *module) []string {
	var complaints []string
	for _, f := range m.sources() {
		for _, spec := range f.ast.Imports {
			name := importPath(spec)
			if _, own := ownPackage(name); own || !strings.Contains(strings.Split(name, "/")[0], ".") {
				continue
			}
			found := false
			for mod, home := range thirdPartyHomes() {
				if name != mod && !strings.HasPrefix(name, mod+"/") {
					continue
				}
				found = true
				if !slices.Contains(home, f.dir()) {
					complaints = append(complaints, fmt.Sprintf("%s: %s belongs in %s only", m.at(spec), mod, strings.Join(home, " and ")))
				}
			}
			if !found {
				complaints = append(complaints, fmt.Sprintf("%s: %s is not a dependency of this project", m.at(spec), name))
			}
		}
	}
	return complaints
}

func importPath(spec *ast.ImportSpec) string {
	name, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
	return name
}

// ownPackage turns an import path into a folder of this module.
func ownPackage(name string) (dir string, own bool) {
	if name == modulePath {
		return ".", true
	}
	return strings.CutPrefix(name, modulePath+"/")
}

func known(dir string) bool {
	_, isApart := separateLayers()[dir]
	return isApart || layer(dir) >= 0
}

// layer is the height of a package, -1 for one that has none.
func layer(dir string) int {
	return slices.IndexFunc(layers(), func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			tree, isTree := strings.CutSuffix(name, "/...")
			return name == dir || isTree && (dir == tree || strings.HasPrefix(dir, tree+"/"))
		})
	})
}

func mayImport(from, to string) bool {
	if allowed, isApart := separateLayers()[from]; isApart {
		return slices.Contains(allowed, to)
	}
	_, isApart := separateLayers()[to]
	return !isApart && layer(to) < layer(from)
}
