package inspect

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// shortLimit is the length of a text that is to stand in a line.
const shortLimit = 160

// short returns the beginning of a text as one line.
func short(s string) string {
	cut := head(s, 4*shortLimit)
	text := strings.Join(strings.Fields(cut), " ")
	if out := head(text, shortLimit); len(out) < len(text) || len(cut) < len(s) {
		return out + "…"
	}
	return text
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return "“" + s + "”"
}

func number(n int) string { return strconv.Itoa(n) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(n) + " " + what + "s"
}

// money writes an amount with as many digits as it deserves.
func money(usd float64) string {
	switch {
	case usd == 0:
		return "$0"
	case math.Abs(usd) < 0.01:
		return fmt.Sprintf("$%.5f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// span writes a time that something took.
func span(ms float64) string {
	switch {
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 60_000:
		return fmt.Sprintf("%.2f s", ms/1000)
	case ms < 3_600_000:
		return fmt.Sprintf("%d min %02d s", int(ms)/60_000, int(ms)/1000%60)
	}
	return fmt.Sprintf("%d h %02d min", int(ms)/3_600_000, int(ms)/60_000%60)
}

// clock writes a moment.
func clock(ms float64) string {
	s := ms / 1000
	if s < 60 {
		return fmt.Sprintf("%.3f", s)
	}
	return fmt.Sprintf("%d:%06.3f", int(s)/60, math.Mod(s, 60))
}

func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// count writes a number of tokens.
func count(n int) string {
	switch {
	case n < 10_000:
		return number(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.2fM", float64(n)/1e6)
}

func exitText(code, signal string) string {
	if signal != "" {
		return "ended by signal: " + short(signal)
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

// toolSubject picks the member of a tool's input that says most.
func toolSubject(input json.RawMessage) string {
	for _, name := range []string{"command", "file_path", "path", "pattern", "query", "url", "prompt", "description"} {
		if text := jsonx.Text(jsonx.Member(input, name)); text != "" {
			return text
		}
	}
	var in struct {
		Questions []permission.Question `json:"questions"`
	}
	if jsonx.Unmarshal(input, &in) == nil && len(in.Questions) > 0 {
		return in.Questions[0].Text
	}
	return string(input)
}
