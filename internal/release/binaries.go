package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/release/platform"
)

// programPackage is the program that releases have.
const programPackage = "cmd/claudectl"

// checksumFile lists the sums of all other files, in the form of sha256sum.
const checksumFile = "SHA256SUMS"

// binaries builds the program from the tree in root for some systems, and writes
// archives, bills of materials, checksums and the formula into a new folder out. Two
// runs for the same commit with the same version of Go write the same bytes.
func binaries(ctx context.Context, w io.Writer, root, out string, systems []platform.Platform) error {
	version, err := treeVersion(root)
	if err != nil {
		return err
	}
	when, err := commitTime(ctx, root)
	if err != nil {
		return err
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		return err // one that exists may hold files of another version
	}
	files := make(map[string][]byte)
	for _, system := range systems {
		begin := time.Now()
		name := fmt.Sprintf("claudectl_%s_%s_%s", version, system.OS, system.Arch)
		archive, bill, err := packed(ctx, root, name, version, when, system)
		if err != nil {
			return fmt.Errorf("%s: %w", system, err)
		}
		files[name+archiveSuffix(system)], files[name+".cdx.json"] = archive, bill
		fmt.Fprintf(w, "%s: %d bytes, %.0f s\n", name+archiveSuffix(system), len(archive), time.Since(begin).Seconds())
	}
	if text, ok := formula(version, sums(files)); ok {
		files["claudectl.rb"] = []byte(text)
	}
	if text, ok := registryEntry(version, sums(files)); ok {
		files[registryFile] = text
	}
	files[checksumFile] = []byte(checksums(sums(files)))
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(out, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// packed builds the program for a system, and returns its archive and its bill of
// materials.
func packed(ctx context.Context, root, name, version string, when time.Time, system platform.Platform) (archive, bill []byte, err error) {
	program, err := build(ctx, root, system)
	if err != nil {
		return nil, nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, nil, err
	}
	parts, err := linked(ctx, root, info)
	if err != nil {
		return nil, nil, err
	}
	if bill, err = billOfMaterials(version, when, program, info, parts); err != nil {
		return nil, nil, err
	}
	entries := []entry{{programName(system), program, 0o755}, {"THIRD_PARTY_LICENSES", []byte(licenceTexts(parts)), 0o644}}
	for _, doc := range []string{"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"} {
		text, err := os.ReadFile(filepath.Join(root, doc))
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, entry{doc, text, 0o644})
	}
	archive, err = pack(system, name, when, entries)
	return archive, bill, err
}

// build compiles the program. Nothing of the machine gets into it: no paths, no
// symbols, no C libraries, no id of the build, which depends on more than the code, and no state of the repository, which a module proxy would
// not have either.
func build(ctx context.Context, root string, system platform.Platform) ([]byte, error) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, programName(system))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", file, "./"+programPackage)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOOS="+system.OS, "GOARCH="+system.Arch)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, text)
	}
	return os.ReadFile(file)
}

func programName(system platform.Platform) string {
	if system.OS == "windows" {
		return "claudectl.exe"
	}
	return "claudectl"
}

// treeVersion is the version that the tree has.
func treeVersion(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, versionFile))
	if err != nil {
		return "", err
	}
	found := versionForm.FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("%s has no constant Version", versionFile)
	}
	return string(found[1]), nil
}

// commitTime is the time that all files of a release have: that of the commit, or
// SOURCE_DATE_EPOCH as other tools have it.
func commitTime(ctx context.Context, root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.CommandContext(ctx, "git", "-C", root, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("git log: %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("time of the release: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// sums are the SHA-256 sums of files, by name.
func sums(files map[string][]byte) map[string]string {
	all := make(map[string]string)
	for name, data := range files {
		sum := sha256.Sum256(data)
		all[name] = hex.EncodeToString(sum[:])
	}
	return all
}

// checksums writes sums as sha256sum does, so that "sha256sum -c" can compare them.
func checksums(sums map[string]string) string {
	var lines []string
	for name, sum := range sums {
		lines = append(lines, sum+"  "+name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return strings.Join(lines, "")
}
