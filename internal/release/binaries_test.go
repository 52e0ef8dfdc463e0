package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/release/platform"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// Two people who build a release from the same source in other folders get the same
// bytes. What they get has what it promises: the program, the licences of all its parts,
// a bill of materials, sums. Code of this module is compiled anew for the second: a
// remark at the end of each file keeps the cache from answering. The standard library and
// other modules come from the cache, because they lie in the same place for both. That
// machines with nothing in common agree is seen at each release, which is built twice.
func TestBinariesAreReproducible(t *testing.T) {
	long.Test(t, "compiles the program twice")
	t.Setenv("SOURCE_DATE_EPOCH", "1763400000")
	system := []platform.Platform{{OS: runtime.GOOS, Arch: runtime.GOARCH}}
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	if err := binaries(t.Context(), t.Output(), top, one, system); err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "elsewhere")
	for _, name := range tracked(t) {
		text, err := os.ReadFile(filepath.Join(top, name))
		if err != nil { // a file that was removed
			continue
		}
		if filepath.Ext(name) == ".go" {
			text = append(text, "\n// "+clone+"\n"...)
		}
		write(t, filepath.Join(clone, name), text)
	}
	if err := binaries(t.Context(), t.Output(), clone, two, system); err != nil {
		t.Fatal(err)
	}
	first, second := folder(t, one), folder(t, two)
	if len(first) != 3 || !maps.EqualFunc(first, second, bytes.Equal) {
		t.Errorf("two builds differ: %v and %v", sums(first), sums(second))
	}
	checkRelease(t, first)
}

// checkRelease looks into the archive of a release for this system.
func checkRelease(t *testing.T, files map[string][]byte) {
	t.Helper()
	version := current(t)
	name := "claudectl_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH
	content := unpack(t, name+".tar.gz", files[name+".tar.gz"])
	program := filepath.Join(t.TempDir(), "claudectl")
	if err := os.WriteFile(program, content[name+"/claudectl"], 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "--version").Output()
	if err != nil || string(out) != "claudectl "+version+"\n" {
		t.Errorf("the program prints %q, %v", out, err)
	}
	var bill cycloneDX
	if err := json.Unmarshal(files[name+".cdx.json"], &bill); err != nil {
		t.Fatal(err)
	}
	licences := string(content[name+"/THIRD_PARTY_LICENSES"])
	for _, c := range bill.Components {
		head := c.Name + " " + c.Version + " ("
		_, text, found := strings.Cut(licences, head)
		if !found || !strings.Contains(strings.ToLower(text[:min(len(text), 2000)]), "copyright") {
			t.Errorf("no licence of %s is in the archive", head)
		}
	}
	for _, want := range []string{standardLibrary, "github.com/alecthomas/kong", "mvdan.cc/sh/v3"} {
		if !slices.ContainsFunc(bill.Components, func(c component) bool { return c.Name == want }) {
			t.Errorf("the bill of materials lacks %s", want)
		}
	}
	if sum := sums(map[string][]byte{"p": content[name+"/claudectl"]})["p"]; bill.Metadata.Component.Hashes[0].Content != sum {
		t.Errorf("the bill of materials is of another program")
	}
	listed := string(files[checksumFile])
	delete(files, checksumFile)
	if want := checksums(sums(files)); listed != want {
		t.Errorf("sums %s, want %s", listed, want)
	}
}

// folder reads the files of a folder.
func folder(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// unpack reads an archive.
func unpack(t *testing.T, name string, data []byte) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	if filepath.Ext(name) == ".zip" {
		r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			text, err := fs.ReadFile(r, f.Name)
			if err != nil {
				t.Fatal(err)
			}
			files[f.Name] = text
		}
		return files
	}
	squeezed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(squeezed); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[head.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPack(t *testing.T) {
	entries := []entry{{"claudectl", []byte("program"), 0o755}, {"LICENSE", []byte("text"), 0o644}}
	for _, system := range []platform.Platform{{OS: "linux", Arch: "arm64"}, {OS: "windows", Arch: "amd64"}} {
		first, err := pack(system, "dir", today, entries)
		if err != nil {
			t.Fatal(err)
		}
		again, err := pack(system, "dir", today, entries)
		if err != nil || !bytes.Equal(first, again) {
			t.Errorf("%s: two archives differ, %v", system, err)
		}
		if later, err := pack(system, "dir", today.Add(time.Hour), entries); err != nil || bytes.Equal(first, later) {
			t.Errorf("%s: the time is not in the archive, %v", system, err)
		}
		got := unpack(t, "x"+archiveSuffix(system), first)
		if want := map[string][]byte{"dir/claudectl": []byte("program"), "dir/LICENSE": []byte("text")}; !maps.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s: %q", system, got)
		}
	}
}

func TestLicenceOf(t *testing.T) {
	for text, want := range map[string]string{
		"Permission is hereby granted,\n free of charge, to any person":                                                        "MIT",
		"Apache License\n   Version 2.0, January 2004":                                                                         "Apache-2.0",
		"Licensed under the Apache License, Version 2.0":                                                                       "Apache-2.0",
		"Redistributions in binary form must reproduce … Neither the name of Google":                                           "BSD-3-Clause",
		"Redistributions in binary form must reproduce the above":                                                              "BSD-2-Clause",
		"Permission to use, copy, modify, and distribute this software for any\npurpose with or without fee is hereby granted": "ISC",
		"GNU AFFERO GENERAL PUBLIC LICENSE":                                                                                    "",
		"All rights reserved.":                                                                                                 "",
	} {
		if got := licenceOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "LICENSE.txt"), []byte("All rights reserved."))
	if err := (&library{path: "example.com/closed"}).read(dir); err == nil {
		t.Error("code without a licence would be passed on")
	}
	write(t, filepath.Join(dir, "COPYING"), []byte("Permission is hereby granted, free of charge"))
	p := library{path: "example.com/open", version: "v1.0.0"}
	if err := p.read(dir); err != nil || p.licence != "MIT" {
		t.Errorf("licence %q, %v", p.licence, err)
	}
	if all := licenceTexts([]library{p}); !strings.Contains(all, "example.com/open v1.0.0 (MIT)\n====") || !strings.Contains(all, "free of charge\nAll rights reserved.") {
		t.Error(all)
	}
}

func TestFormula(t *testing.T) {
	sums := make(map[string]string)
	for _, s := range platform.Supported() {
		sums["claudectl_1.2.3_"+s.OS+"_"+s.Arch+archiveSuffix(s)] = "sum-of-" + s.String()
	}
	text, ok := formula("1.2.3", sums)
	want := "  on_macos do\n    on_arm do\n      url \"https://github.com/claude-agent-go/claude/releases/download/v1.2.3/claudectl_1.2.3_darwin_arm64.tar.gz\"\n      sha256 \"sum-of-darwin/arm64\"\n    end\n"
	if !ok || !strings.Contains(text, want) || strings.Count(text, "sha256") != 4 {
		t.Error(text)
	}
	delete(sums, "claudectl_1.2.3_linux_arm64.tar.gz")
	if _, ok := formula("1.2.3", sums); ok {
		t.Error("a formula without one of its archives")
	}
}

func TestChecksums(t *testing.T) {
	got := checksums(sums(map[string][]byte{"b": nil, "a": []byte("abc")}))
	want := "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\ne3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
	if got != want {
		t.Errorf("got %s", got)
	}
}

func TestChosen(t *testing.T) {
	all, err := chosen("")
	if err != nil || len(all) != 10 {
		t.Errorf("%v, %v", all, err)
	}
	if some, err := chosen("windows/arm64,linux/386"); err != nil || len(some) != 2 || some[1].Arch != "386" {
		t.Errorf("%v, %v", some, err)
	}
	if _, err := chosen("plan9/mips"); err == nil {
		t.Error("an unknown system is accepted")
	}
}
