package approval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/store"
)

// planTool is the tool by which the model presents its plan.
const planTool = "ExitPlanMode"

// maxPlan is the longest plan in a question.
const maxPlan = 256 << 10

// samePlan recognises a plan that was asked about before, so that it stays the same
// question. The CLI shows a plan as part of the call: with the path of its file, which
// differs between configuration directories, or not at all if the file was lost with
// its directory. Such a file is written again, because the CLI reads the plan from it
// for the model. A plan with another text is another question.
func (g *Gate) samePlan(ctx context.Context, q *Question, transcript string) error {
	known, err := g.inbox.Get(ctx, idOf(q.Conversation, q.ToolUseID))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	text := jsonx.Text(jsonx.Member(q.Input, "plan"))
	if text != "" && text != jsonx.Text(jsonx.Member(known.Input, "plan")) {
		return nil
	}
	if text == "" && known.Plan != "" {
		if err := restorePlan(transcript, filepath.Base(known.PlanPath), known.Plan); err != nil {
			return about(known.ID, fmt.Errorf("the plan cannot be written again: %w", err))
		}
	}
	q.Input, q.Plan, q.PlanPath = known.Input, known.Plan, known.PlanPath
	return nil
}

// restorePlan writes a plan to where the CLI looks for it, unless a plan is
// there.
func restorePlan(transcript, name, plan string) error {
	dir := plansOf(transcript)
	if err := private.MkdirAll(dir); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(plan)
	return errors.Join(err, file.Close())
}

// plansOf returns the directory of the plans beside a transcript:
// <config>/projects/<project>/<session>.jsonl and <config>/plans/<name>.md
func plansOf(transcript string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(transcript))), "plans")
}

// newestPlan returns the plan that the model has just written, and its path. The
// model's call has no input: the CLI keeps the plan in a file of its
// configuration directory, beside the transcripts, where it is lost if the
// directory exists for one session only. Without a plan both are empty.
func newestPlan(transcript string) (text, path string) {
	if transcript == "" {
		return "", ""
	}
	root, err := os.OpenRoot(plansOf(transcript))
	if err != nil {
		return "", ""
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return "", ""
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(-1) // entries read before an error count
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
