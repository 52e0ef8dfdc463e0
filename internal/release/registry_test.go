package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
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

// The icon beside the entry is of 16 by 16, and has the colour of the text around it, as the
// registry asks.
func TestRegistryIcon(t *testing.T) {
	text, err := os.ReadFile("icon.svg")
	if err != nil {
		t.Fatal(err)
	}
	var icon struct {
		XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
		W       string   `xml:"width,attr"`
		H       string   `xml:"height,attr"`
		Box     string   `xml:"viewBox,attr"`
		Fill    string   `xml:"fill,attr"`
		Stroke  string   `xml:"stroke,attr"`
	}
	if err := xml.Unmarshal(text, &icon); err != nil {
		t.Fatal(err)
	}
	if icon.W != "16" || icon.H != "16" || icon.Box != "0 0 16 16" || icon.Fill != "none" || icon.Stroke != "currentColor" {
		t.Errorf("%+v", icon)
	}
}
