package policy

import (
	"context"
	"log/slog"
	"time"

	"github.com/claude-agent-go/claude/permission"
)

// Audit logs the decisions of next: the tool, the ids, the decision, its
// message, whether the input was changed, and how long it took. Denials are
// logged as warnings, failures as errors, the rest as information.
//
// Inputs are not logged, because commands and files hold secrets. Use attrs to
// add whatever is safe to keep, for example the path of a file.
func Audit(log *slog.Logger, next permission.Func, attrs ...func(*permission.Request) []slog.Attr) permission.Func {
	return func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
		begin := time.Now()
		decision, err := next(ctx, req)
		record := []slog.Attr{slog.String("tool", req.ToolName)}
		for _, a := range []slog.Attr{
			slog.String("tool_use_id", req.ToolUseID),
			slog.String("request_id", req.RequestID),
			slog.String("agent_id", req.AgentID),
			slog.String("message", decision.Message()),
		} {
			if a.Value.String() != "" {
				record = append(record, a)
			}
		}
		level, outcome := judge(decision, err)
		record = append(record, slog.String("decision", outcome), slog.Duration("duration", time.Since(begin)))
		if _, changed := decision.Input(); changed {
			record = append(record, slog.Bool("changed", true))
		}
		if err != nil {
			record = append(record, slog.Any("error", err))
		}
		for _, more := range attrs {
			record = append(record, more(req)...)
		}
		log.LogAttrs(ctx, level, "permission", record...)
		return decision, err
	}
}

func judge(d permission.Decision, err error) (slog.Level, string) {
	switch {
	case err != nil:
		return slog.LevelError, "failed"
	case d.Behavior() == "":
		return slog.LevelInfo, "pass"
	case d.Behavior() == permission.BehaviorAllow:
		return slog.LevelInfo, string(permission.BehaviorAllow)
	}
	return slog.LevelWarn, string(d.Behavior())
}
