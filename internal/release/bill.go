package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"
)

// The members of a CycloneDX document that a bill of materials has.
type (
	cycloneDX struct {
		Format       string       `json:"bomFormat"`
		SpecVersion  string       `json:"specVersion"`
		SerialNumber string       `json:"serialNumber"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type       string           `json:"type"`
		Ref        string           `json:"bom-ref"`
		Name       string           `json:"name"`
		Version    string           `json:"version"`
		PURL       string           `json:"purl"`
		Hashes     []hash           `json:"hashes,omitempty"`
		Licenses   []map[string]any `json:"licenses"`
		Properties []property       `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

// billOfMaterials lists what a program consists of, as CycloneDX 1.6. Everything in it
// follows from the program and its licences, so that it can be made again.
func billOfMaterials(version string, when time.Time, program []byte, info *debug.BuildInfo, parts []library) ([]byte, error) {
	sum := sha256.Sum256(program)
	self := component{
		Type: "application", Name: "claudectl", Version: version, PURL: purl(modulePath, "v"+version) + "#" + programPackage,
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}}, Licenses: licences("MIT"),
	}
	self.Ref = self.PURL
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS", "GOARCH", "CGO_ENABLED", "-ldflags", "-trimpath":
			self.Properties = append(self.Properties, property{"go:build:" + s.Key, s.Value})
		}
	}
	doc := cycloneDX{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1, SerialNumber: serial(sum),
		Metadata:     metadata{when.Format(time.RFC3339), self},
		Dependencies: []dependency{{Ref: self.Ref}},
	}
	for _, p := range parts {
		c := component{Type: "library", Name: p.path, Version: p.version, PURL: purl(p.path, p.version), Licenses: licences(p.licence)}
		c.Ref = c.PURL
		if p.sum != "" {
			c.Properties = []property{{"go:sum", p.sum}}
		}
		doc.Components = append(doc.Components, c)
		doc.Dependencies[0].DependsOn = append(doc.Dependencies[0].DependsOn, c.Ref)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(doc)
	return b.Bytes(), err
}

// purl names a Go module as a package URL.
func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }

func licences(id string) []map[string]any {
	return []map[string]any{{"license": map[string]string{"id": id}}}
}

// serial is a UUID that follows from a sum, in the version that is for such.
func serial(sum [sha256.Size]byte) string {
	u := sum
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
