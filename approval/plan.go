package approval

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// planTool is the tool by which the model presents its plan.
const planTool = "ExitPlanMode"

// maxPlan is how much of a plan a question holds.
const maxPlan = 256 << 10

// newestPlan returns the plan that the model has just written, and its path. The
// call itself has no input: the CLI keeps the plan in a file of its
// configuration directory, beside the transcripts, where it is lost with a
// directory that exists for one session only. Without a plan both are empty.
func newestPlan(transcript string) (text, path string) {
	if transcript == "" {
		return "", ""
	}
	// <config>/projects/<project>/<session>.jsonl and <config>/plans/<name>.md
	root, err := os.OpenRoot(filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(transcript))), "plans"))
	if err != nil {
		return "", ""
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return "", ""
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(-1) // what was read before an error counts
	newest, name := time.Time{}, ""
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), ".md") && info.ModTime().After(newest) {
			newest, name = info.ModTime(), e.Name()
		}
	}
	if name == "" {
		return "", ""
	}
	file, err := root.Open(name)
	if err != nil {
		return "", ""
	}
	defer file.Close()
	plan, err := io.ReadAll(io.LimitReader(file, maxPlan))
	if err != nil {
		return "", ""
	}
	return string(plan), filepath.Join(root.Name(), name)
}
