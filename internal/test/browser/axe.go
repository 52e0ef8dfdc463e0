package browser

import (
	"fmt"
	"os"

	"github.com/claude-agent-go/claude/internal/test/npm"
)

// axeVersion is the version of axe-core that pages are held to.
const axeVersion = "4.14.0"

// axeRun runs every rule that axe-core has for WCAG 2.2 and for good practice,
// and returns one line for each element that breaks one. Target sizes are not
// among the rules that run by default.
const axeRun = `axe.run(document, {
	resultTypes: ["violations"],
	runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
	rules: { "target-size": { enabled: true } },
}).then(found => found.violations.flatMap(v => v.nodes.map(n =>
	v.id + " (" + v.impact + ") " + n.target.join(" ") + ": " + n.html.slice(0, 160))))`

// Violations returns what axe-core finds wrong with the page as it stands, one
// line for each element. Run it for every size and every colour scheme: what is
// hidden is not judged.
func (b *Browser) Violations(t T) []string {
	t.Helper()
	if b.Eval(t, `typeof axe`) == "undefined" { // it takes longer to read than to run
		source, err := os.ReadFile(axe(t))
		if err != nil {
			t.Fatal(err)
		}
		// What comes through DevTools is not bound by the policy of the page.
		b.Eval(t, string(source)+";0")
	}
	var lines []string
	for _, line := range b.Eval(t, axeRun).([]any) {
		lines = append(lines, fmt.Sprint(line))
	}
	return lines
}

// axe returns the path of axe-core.
func axe(t T) string {
	t.Helper()
	core := npm.Package{Name: "axe-core", Version: axeVersion, Has: "axe.min.js"}
	return core.Path(npm.Need(t, core), core.Has)
}
