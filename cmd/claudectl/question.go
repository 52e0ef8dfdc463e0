package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/permission"
)

// answer puts the questions of the model to a person.
func (a *asker) answer(ctx context.Context, req *permission.Request, questions []permission.Question) (permission.Decision, error) {
	answers := req.Answers()
	for i, q := range questions {
		a.say("")
		a.say(a.s.style(terminal.Bold, a.c.line(q.Text)))
		for n, option := range q.Options {
			a.option(n, option.Label, option.Description)
		}
		how := "A number, or your own words: "
		if q.MultiSelect {
			how = "Numbers with commas, or your own words: "
		}
		text := ""
		for text == "" {
			var err error
			if text, err = a.prompt(ctx, how); err != nil {
				return permission.Decision{}, err
			}
		}
		if chosen := choices(text, len(q.Options), q.MultiSelect); chosen != nil {
			answers.ChooseAt(i, chosen...)
		} else {
			answers.WriteAt(i, text)
		}
	}
	return answers.Decision()
}

// option shows one of several things to choose from, the first with 0.
func (a *asker) option(n int, label, description string) {
	text := fmt.Sprintf("  %d  %s", n+1, label)
	if description != "" {
		text += ": " + description
	}
	a.say(a.c.line(text))
}

// choices reads an answer as numbers of options, nil if it is something else.
func choices(text string, options int, several bool) []int {
	var chosen []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > options || slices.Contains(chosen, n-1) {
			return nil
		}
		chosen = append(chosen, n-1)
	}
	if len(chosen) > 1 && !several {
		return nil
	}
	return chosen
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
