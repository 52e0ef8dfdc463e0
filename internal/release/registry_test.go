package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/release/platform"
)

// TestRegistryEntry names an archive for each system of the registry.
func TestRegistryEntry(t *testing.T) {
	sums := make(map[string]string)
	for _, s := range platform.Supported() {
		sums["claudectl_1.2.3_"+s.OS+"_"+s.Arch+archiveSuffix(s)] = "sum"
	}
	text, ok := registryEntry("1.2.3", sums)
	var entry struct {
		ID, Name, Version, Description, License string
		Distribution                            struct {
			Binary map[string]registryTarget
		}
	}
	if err := json.Unmarshal(text, &entry); err != nil || !ok || len(entry.Distribution.Binary) != 6 || entry.Version != "1.2.3" || entry.ID == "" || entry.Description == "" {
		t.Fatalf("%v, %v\n%s", ok, err, text)
	}
	for system, target := range entry.Distribution.Binary {
		windows := strings.HasPrefix(system, "windows-")
		if !strings.HasPrefix(target.Archive, downloads+"/v1.2.3/claudectl_1.2.3_") || strings.HasSuffix(target.Archive, ".zip") != windows ||
			strings.HasSuffix(target.Cmd, ".exe") != windows || len(target.Args) != 1 || target.Args[0] != "acp" {
			t.Errorf("%s: %+v", system, target)
		}
	}
	delete(sums, "claudectl_1.2.3_windows_arm64.zip")
	if text, ok := registryEntry("1.2.3", sums); ok {
		t.Errorf("an entry without one of its archives: %s", text)
	}
}
