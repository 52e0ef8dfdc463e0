package main

import (
	"context"
	"go/version"
	"os/exec"
	"regexp"
	"time"

	"github.com/claude-agent-go/claude/internal/docs"
)

// checkVersion holds a version of the CLI against the table of what each one can
// do. Between two versions that were measured, the older one counts.
func checkVersion(found string) finding {
	if found == "" {
		return finding{"version", gradeWarn, "the CLI does not say its version", "update the CLI: claude update", nil}
	}
	f := finding{Name: "version", Grade: gradeOK}
	for _, t := range readTables(docs.Compatibility) {
		column := columnFor(t.Names, found)
		if column == 0 {
			f.Grade, f.Detail, f.Advice = gradeFail, found+" is older than any version that was measured", "update the CLI: claude update"
			return f
		}
		newest := len(t.Names) - 1
		f.Detail = found
		if t.Names[column] != found {
			f.Detail += ", which has what " + t.Names[column] + " has"
		}
		for _, row := range t.Rows {
			if len(row) > newest && row[column] != "yes" && row[newest] == "yes" {
				f.Items = append(f.Items, row[0])
			}
		}
	}
	if len(f.Items) > 0 {
		f.Grade, f.Advice = gradeWarn, "these need a newer CLI: claude update"
	}
	return f
}

// columnFor returns the column of the newest version that is not newer than the
// one asked for, 0 if there is none.
func columnFor(names []string, asked string) int {
	found := 0
	for i, name := range names[1:] {
		if !older(asked, name) {
			found = i + 1
		}
	}
	return found
}

// older reports whether a is an older version than b. The versions of Go have
// the same form: three numbers.
func older(a, b string) bool {
	return version.Compare("go"+versionForm.FindString(a), "go"+versionForm.FindString(b)) < 0
}

var versionForm = regexp.MustCompile(`\d+\.\d+\.\d+`)

// askVersion asks an executable for its version, for CLIs that do not name it in
// the handshake; "" when it does not say.
func askVersion(ctx context.Context, path string, env []string) string {
	ctx, cancel := context.WithTimeout(ctx, askVersionBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = env
	cmd.WaitDelay = time.Second
	out, _ := cmd.Output() // what it said counts, however it ended
	return versionForm.FindString(string(out))
}

// askVersionBound is generous: old CLIs load slowly.
const askVersionBound = 30 * time.Second
