// Package matcher compares matchers of hooks with names, as the CLI does.
package matcher

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// ErrForeign is the error of a regular expression that only JavaScript has, or
// that means something else there.
var ErrForeign = errors.New("only JavaScript reads this expression as the CLI does")

// All reports whether a matcher fits every name.
func All(pattern string) bool { return pattern == "" || pattern == "*" }

// plain are the matchers that are names and not regular expressions.
var plain = regexp.MustCompile(`^[A-Za-z0-9_|, -]*$`)

// Plain reports whether a matcher is a list of names.
func Plain(pattern string) bool { return plain.MatchString(pattern) }

// Names returns the names of a plain matcher.
func Names(pattern string) []string {
	names := strings.FieldsFunc(pattern, func(r rune) bool { return r == '|' || r == ',' })
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// Compile returns the function that a matcher stands for: nothing and "*" fit
// everything, names joined by "|" or "," fit exactly, all else is an unanchored
// regular expression. One that cannot be read fits nothing in the CLI, and is an
// error here; so is [ErrForeign].
func Compile(pattern string) (func(name string) bool, error) {
	switch {
	case All(pattern):
		return func(string) bool { return true }, nil
	case Plain(pattern):
		names := Names(pattern)
		return anyName(func(name string) bool { return slices.Contains(names, name) }), nil
	}
	fits, err := compilePattern(pattern)
	if err != nil {
		return nil, err
	}
	return anyName(fits), nil
}

// formerly are names that tools had before, by their names in CLI 2.1.325. A matcher
// of either fits the tool, also a regular expression.
var formerly = map[string][]string{
	"Agent": {"Task"}, "TaskStop": {"KillShell", "KillBash"}, "ListAgents": {"ListPeers"}, "SendUserMessage": {"Brief"},
	"ListMcpResourcesTool": {"ListMcpResources"}, "ReadMcpResourceTool": {"ReadMcpResource"}, "ReadMcpResourceDirTool": {"ReadMcpResourceDir"},
}

// anyName compares all names of a tool. Older versions use the former ones.
func anyName(fits func(string) bool) func(string) bool {
	return func(name string) bool {
		if fits(name) || slices.ContainsFunc(formerly[name], fits) {
			return true
		}
		for now, before := range formerly {
			if slices.Contains(before, name) {
				return fits(now)
			}
		}
		return false
	}
}

func compilePattern(pattern string) (func(string) bool, error) {
	if not, rest, ok := cutNegative(pattern); ok {
		return compileNegative(not, rest)
	}
	return compile(pattern)
}

// different are the parts of an expression that Go has and JavaScript lacks or
// reads in another way: flags, named groups, classes and escapes.
var different = regexp.MustCompile(`\(\?[^:]|\\[AzZQEpPaC]|\\x\{|\[\[:`)

func compile(pattern string) (func(string) bool, error) {
	re, err := regexp.Compile(pattern)
	if bad, ok := errors.AsType[*syntax.Error](err); ok && bad.Code != syntax.ErrInvalidPerlOp && bad.Code != syntax.ErrInvalidEscape {
		return nil, fmt.Errorf("not a regular expression: %s", bad.Code)
	}
	if err != nil || different.MatchString(pattern) {
		return nil, ErrForeign
	}
	return re.MatchString, nil
}

// cutNegative splits the common form ^(?!NOT)REST, which Go's expressions lack.
func cutNegative(pattern string) (not, rest string, ok bool) {
	inner, ok := strings.CutPrefix(pattern, "^(?!")
	if !ok || strings.ContainsAny(inner, `\[`) { // a bracket there may not be one
		return "", "", false
	}
	depth := 1
	for i := range len(inner) {
		switch inner[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return inner[:i], inner[i+1:], !strings.Contains(alternatives(inner[i+1:]), "|")
			}
		}
	}
	return "", "", false
}

// alternatives splits an expression outside of groups.
func alternatives(pattern string) string {
	var outside strings.Builder
	depth := 0
	for _, r := range pattern {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case depth == 0:
			outside.WriteRune(r)
		}
	}
	return outside.String()
}

func compileNegative(not, rest string) (func(string) bool, error) {
	avoid, err := compile("^(?:" + not + ")")
	if err != nil {
		return nil, err
	}
	want, err := compile("^(?:" + rest + ")")
	if err != nil {
		return nil, err
	}
	return func(name string) bool { return want(name) && !avoid(name) }, nil
}
