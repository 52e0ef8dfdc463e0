package inspect

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/show"
)

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return "“" + s + "”"
}

func number(n int) string { return strconv.Itoa(n) }

// clock writes a moment.
func clock(ms float64) string {
	s := ms / 1000
	if s < 60 {
		return fmt.Sprintf("%.3f", s)
	}
	return fmt.Sprintf("%d:%06.3f", int(s)/60, math.Mod(s, 60))
}

func exitText(code, signal string) string {
	if signal != "" {
		return "ended by signal: " + show.Short(signal)
	}
	return "exit code " + code
}

// commandLine joins arguments so that blanks in them show.
func commandLine(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		if words[i] = a; a == "" || strings.ContainsAny(a, " \t\n\"'\\") {
			words[i] = strconv.Quote(a)
		}
	}
	return strings.Join(words, " ")
}
