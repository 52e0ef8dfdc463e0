package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	startForm  = regexp.MustCompile(`(?m)^ENTRYPOINT (\[.*\])$`)
	healthForm = regexp.MustCompile(`(?m)^ *CMD (\[.*\])$`)
)

// The commands of the Containerfile are ones that claudectl understands, and the server
// of the container is asked for its health where it listens, with its own certificate.
func TestContainerfile(t *testing.T) {
	data, err := os.ReadFile("../../Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	command := func(form *regexp.Regexp) (args []string) {
		found := form.FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("the Containerfile has no %s", form)
		}
		if err := json.Unmarshal([]byte(found[1]), &args); err != nil || args[0] != "claudectl" {
			t.Fatalf("%s: %q, %v", found[1], args, err)
		}
		return args[1:]
	}
	start, health := command(startForm), command(healthForm)
	for _, args := range [][]string{start, append(slices.Clone(start), "--host", "agents.example.com"), health} {
		if err := understood(args); err != nil {
			t.Errorf("claudectl %s: %v", strings.Join(args, " "), err)
		}
	}
	value := func(args []string, flag string) string {
		if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
			return args[i+1]
		}
		return ""
	}
	_, served, _ := strings.Cut(value(start, "--listen"), ":")
	_, asked, _ := strings.Cut(value(health, "--listen"), ":")
	if served == "" || served != asked || !strings.Contains(text, "\nEXPOSE "+served+"\n") {
		t.Errorf("it listens on port %q, is asked on %q, and exposes another one", served, asked)
	}
	if cert := value(start, "--tls-cert"); cert == "" || cert != value(health, "--tls-cert") {
		t.Errorf("it has the certificate %q, and is asked with %q", cert, value(health, "--tls-cert"))
	}
	if store := value(start, "--store"); !strings.HasPrefix(store, "/data/") || !strings.Contains(text, `VOLUME ["/data", "/work"]`) {
		t.Errorf("the store %q is not in a volume", store)
	}
	if !strings.Contains(text, "\nUSER 65532:65532\n") {
		t.Error("it runs as root")
	}
}
