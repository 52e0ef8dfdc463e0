package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/permission"
)

// answer puts the questions of the model to a person.
func (a *asker) answer(ctx context.Context, req *permission.Request, questions []permission.Question) (permission.Decision, error) {
	answers := req.Answers()
	for i, q := range questions {
		a.say("")
		a.say(a.s.style(bold, a.c.line(q.Text)))
		for n, option := range q.Options {
			text := fmt.Sprintf("  %d  %s", n+1, option.Label)
			if option.Description != "" {
				text += ": " + option.Description
			}
			a.say(a.c.line(text))
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
		if chosen := choices(text, &q); chosen != nil {
			answers.ChooseAt(i, chosen...)
		} else {
			answers.WriteAt(i, text)
		}
	}
	return answers.Decision()
}

// choices reads an answer as numbers of options, nil if it is none.
func choices(text string, q *permission.Question) []int {
	var chosen []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > len(q.Options) || slices.Contains(chosen, n-1) {
			return nil
		}
		chosen = append(chosen, n-1)
	}
	if len(chosen) > 1 && !q.MultiSelect {
		return nil
	}
	return chosen
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
