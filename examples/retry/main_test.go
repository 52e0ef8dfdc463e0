package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
)

// The minutes pass in a bubble.
func TestRun(t *testing.T) {
	for name, tt := range map[string]struct {
		reply claudetest.Reply
		tries int
	}{
		"overloaded": {claudetest.Fail(529, "overloaded_error", "Overloaded").Forever(), 3},
		"no model":   {claudetest.Fail(404, "not_found_error", "no such model").Forever(), 1},
		"answered":   {claudetest.Say("4"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				begin := time.Now()
				err := run(t.Context(), &out, claudetest.New(tt.reply))
				if answered := name == "answered"; answered != (err == nil) || answered != strings.HasSuffix(out.String(), "4\n") {
					t.Errorf("%v after %q", err, out.String())
				}
				if got := 1 + strings.Count(out.String(), "again in a minute"); got != tt.tries || time.Since(begin) < time.Duration(tt.tries-1)*time.Minute {
					t.Errorf("%d attempts in %v, want %d:\n%s", got, time.Since(begin), tt.tries, out.String())
				}
			})
		})
	}
}
