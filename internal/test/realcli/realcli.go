package realcli

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// Version is the newest CLI the project is tested with.
const Version = "2.1.325"

// VersionVariable is the environment variable that names another version for
// the tests to run with.
const VersionVariable = "CLAUDE_CLI_VERSION"

// Pinned returns the versions that the tests run with, oldest first. 1.0.59 is
// not among them: it has no handshake, so hardly a test applies to it.
func Pinned() []string {
	return []string{"1.0.63", "1.0.85", "1.0.128", "2.0.0", "2.0.77", "2.1.0", Version}
}

// Tested returns the version that the tests run with: the newest, unless the
// environment names another one.
func Tested() string {
	return cmp.Or(os.Getenv(VersionVariable), Version)
}

// NotApplicable begins the text with which a test is skipped that shows
// something the tested version does not have.
const NotApplicable = "not applicable"

// Has reports whether the tested CLI is at least of that version, for a detail
// of a test that applies to older ones as well.
func Has(version string) bool { return !older(Tested(), version) }

// Needs skips a test that needs a newer CLI than the tested one. With the newest
// it never does.
func Needs(tb TB, version, what string) {
	tb.Helper()
	if !Has(version) {
		tb.Skipf("%s: %s needs Claude Code %s, this is %s", NotApplicable, what, version, Tested())
	}
}

// older reports whether version a is below version b, by their numbers.
func older(a, b string) bool {
	numbers := func(version string) (n []int) {
		for part := range strings.SplitSeq(version, ".") {
			i, _ := strconv.Atoi(part)
			n = append(n, i)
		}
		return n
	}
	return slices.Compare(numbers(a), numbers(b)) < 0
}

// TB is the part of testing.TB that [Need] and [Env] use.
type TB interface {
	long.T
	Context() context.Context
	TempDir() string
	Fatalf(format string, args ...any)
}

// Installed returns the path of the CLI of that version in the cache, and
// whether it is there. The path may be a cli.js: it is executable, but needs
// node on PATH.
func Installed(version string) (path string, ok bool) {
	c, err := moduleCache()
	if err != nil {
		return "", false
	}
	return c.find(version)
}

// Install returns the path of the CLI of that version, fetching it with npm
// unless it is already in the cache. The output of npm goes to log, which may be
// nil. It is safe to call from several processes at once.
func Install(ctx context.Context, version string, log io.Writer) (path string, err error) {
	c, err := moduleCache()
	if err != nil {
		return "", err
	}
	return c.install(ctx, version, log)
}

// Need returns the path of the CLI of that version for a test of the long level, see
// package long. A CLI that is missing is installed.
func Need(tb TB, version string) string {
	tb.Helper()
	c, err := moduleCache()
	if err != nil {
		tb.Fatalf("realcli: %v", err)
		return ""
	}
	return c.need(tb, version)
}

func (c cache) need(tb TB, version string) string {
	tb.Helper()
	long.Test(tb, "needs Claude Code "+version)
	path, err := c.install(tb.Context(), version, nil)
	if err != nil {
		tb.Fatalf("realcli: %v", err)
	}
	return path
}
