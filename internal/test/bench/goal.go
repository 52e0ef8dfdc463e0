package main

import (
	"fmt"
	"slices"
	"strings"
)

// goal is a claim that the project makes about itself.
type goal struct {
	text string
	// met looks at the rows, by the beginning of their name, and returns the
	// measured value; "" if it was not measured.
	met func(find func(name string) row) (got string, ok bool)
	// badness orders runs: the larger, the worse. Nil: they are not compared.
	badness func(find func(name string) row) *float64
	// bound is the value that the text promises.
	bound string
}

// promise returns the text with the value that even the worst run reaches.
func (g goal) promise(worst string) string {
	if g.bound != "" && strings.Count(g.text, g.bound) == 1 {
		return strings.Replace(g.text, g.bound, worst, 1)
	}
	return g.text + ": " + worst
}

// verdict is a goal and what was measured.
type verdict struct {
	text, got string
	ok        bool
	// Of several runs, whose median is got and which are ok if all were:
	worst, promise string
	runs, held     int
}

func (v verdict) word() string {
	switch {
	case v.runs > 1 && v.got != "" && !v.ok:
		return fmt.Sprintf("**%d of %d**", v.held, v.runs)
	case v.runs > 1 && v.got != "":
		return fmt.Sprintf("%d of %d", v.held, v.runs)
	case v.got == "":
		return "not measured"
	case v.ok:
		return "met"
	}
	return "**not met**"
}

// faster is a goal for the ratio of the TypeScript SDK's time and ours.
func faster(text, name string, least float64) goal {
	return goal{text, func(find func(string) row) (string, bool) {
		r := ratio(find(name).TS, find(name).Ours)
		if r == nil {
			return "", false
		}
		return times(r), *r >= least
	}, func(find func(string) row) *float64 { return ratio(find(name).Ours, find(name).TS) }, fmt.Sprintf("%g×", least)}
}

// nearLimit is a goal for the ratio of our time and the limit's.
func nearLimit(text, name string, most float64) goal {
	return goal{text, func(find func(string) row) (string, bool) {
		r := ratio(find(name).Ours, find(name).Limit)
		if r == nil {
			return "", false
		}
		return times(r), *r <= most
	}, func(find func(string) row) *float64 { return ratio(find(name).Ours, find(name).Limit) }, fmt.Sprintf("%g×", most)}
}

// below is a goal for a quantity.
func below(text, name, unit string, of func(row) *float64, most float64) goal {
	return goal{text, func(find func(string) row) (string, bool) {
		v := of(find(name))
		if v == nil {
			return "", false
		}
		return format(v, unit), *v <= most
	}, func(find func(string) row) *float64 { return of(find(name)) }, ""}
}

// noneLost is a goal for something that ends the program with an error when it
// loses anything.
func noneLost(text, name string) goal {
	return goal{text: text, met: func(find func(string) row) (string, bool) {
		if find(name).Ours == nil {
			return "", false
		}
		return "none lost", true
	}}
}

// sessionGoals are about live sessions.
func sessionGoals() []goal {
	value := func(r row) *float64 { return r.Ours }
	allocations := func(r row) *float64 { return r.Allocs }
	return []goal{
		faster("small deltas at least 5× as fast as the TypeScript SDK", "small delta, 250 B (limit: split)", 5),
		below("and at most 2 allocations", "small delta, 250 B (limit: split)", "", allocations, 2.1),
		faster("assistant messages of 2 KB, blocks decoded, at least 4×", "assistant message", 4),
		faster("tool results of 100 KB at least 4×", "tool result, 100 KB", 4),
		faster("tool results of 10 MB at least 4×", "tool result, 10 MB", 4),
		nearLimit("permission round trip at most 1.3× the raw pipe, median", "permission round trip (limit: echo), median", 1.3),
		nearLimit("and at most 1.5× at the 99th percentile", "permission round trip (limit: echo), p99", 1.5),
		nearLimit("hook round trip at most 1.3× the raw pipe, median", "hook round trip (limit: echo), median", 1.3),
		nearLimit("and at most 1.5× at the 99th percentile", "hook round trip (limit: echo), p99", 1.5),
		faster("MCP tool call at least 2× as fast as the TypeScript SDK, median", "MCP tool call round trip (limit: echo), median", 2),
		nearLimit("and at most 3× the raw pipe", "MCP tool call round trip (limit: echo), median", 3),
		below("and at most 80 allocations", "MCP tool call round trip (limit: echo), median", "", allocations, 80.99),
		noneLost("10,000 idle sessions at once in process, each of which answers again", rowIdle),
		below("and each of them under 40 KiB", rowIdle, "bytes", value, 40<<10),
		below("and at most 2 goroutines", rowIdleGoroutines, "", value, 2),
		noneLost(fmt.Sprintf("1,000 sessions at once, %d messages and %d callbacks each, without loss", manyMessages, manyCallbacks), "1000 sessions at once"),
		noneLost(fmt.Sprintf("1,000 sessions with a process each, %d messages at once, without loss", processMessages), rowProcesses(processSessions)),
		nearLimit("and each message at most 1.5× the CPU time of one session", rowProcesses(processSessions), 1.5),
		{text: "cost of a message flat from 10³ to 10⁶ messages", met: checkGrowth},
	}
}

// historyGoals are about sessions on disk.
func historyGoals() []goal {
	list := fmt.Sprintf("list %d sessions", listedSessions)
	read := "read a transcript of"
	value := func(r row) *float64 { return r.Ours }
	return []goal{
		faster(fmt.Sprintf("listing %d sessions of %d KB at least 20× as fast as the TypeScript SDK", listedSessions, listedBytes/1000), list, 20),
		below("and under 32 MiB", list+" of 145 KB, peak memory", "bytes", value, 32<<20),
		flatMemory("and flat in memory from a tenth of them", list+" of 145 KB"),
		faster(fmt.Sprintf("reading a transcript of %d MB at least 3×", readBytes/1_000_000), read, 3),
		{text: fmt.Sprintf("and ten times the transcript needs less than %.1f of the difference in memory", maxMemoryShare), met: checkMemoryShare},
	}
}

// maxMemoryGrowth is by how much the memory of a process may grow with ten times the
// sessions: their names and times, and what the runtime rounds up to.
const maxMemoryGrowth = 1.5

func flatMemory(text, name string) goal {
	return goal{text: text, met: func(find func(string) row) (string, bool) {
		r := ratio(find(name+", peak memory").Ours, find(name+" but a tenth").Ours)
		if r == nil {
			return "", false
		}
		return times(r), *r <= maxMemoryGrowth
	}}
}

// maxMemoryShare is how much of a transcript may be in memory when it is read: some
// hundred bytes about each message, and what the collector has not yet taken.
const maxMemoryShare = 0.5

func checkMemoryShare(find func(string) row) (string, bool) {
	const name = "read a transcript of 50 MB"
	large, small := find(name+", peak memory").Ours, find(name+" but a tenth").Ours
	if large == nil || small == nil {
		return "", false
	}
	share := (*large - *small) / (readBytes * 0.9)
	return fmt.Sprintf("%.2f", share), share < maxMemoryShare
}

// maxGrowth is by how much the cost of a message may seem to grow: what is noise
// on a busy machine. Work that grew with the session would show as a multiple.
const maxGrowth = 1.25

func checkGrowth(find func(string) row) (string, bool) {
	small, large := find("small delta in a turn of 1000,").Ours, find("small delta in a turn of 1000000,").Ours
	r := ratio(large, small)
	if r == nil {
		return "", false
	}
	return times(r), *r <= maxGrowth
}

// judge looks at goals.
func judge(goals []goal, rows []row) []verdict {
	var all []verdict
	for _, p := range goals {
		got, ok := p.met(finder(rows))
		all = append(all, verdict{text: p.text, got: got, ok: ok})
	}
	return all
}

// finder finds rows by the beginning of their name.
func finder(rows []row) func(name string) row {
	return func(name string) row {
		for _, r := range rows {
			if strings.HasPrefix(r.Case, name) {
				return r
			}
		}
		return row{}
	}
}

// anyMissed reports whether a goal was measured and missed.
func anyMissed(verdicts []verdict) bool {
	return slices.ContainsFunc(verdicts, func(v verdict) bool { return v.got != "" && !v.ok })
}

// summary is all verdicts for a terminal, without what was not measured.
func summary(verdicts []verdict) string {
	var out strings.Builder
	for _, v := range verdicts {
		if v.got != "" {
			fmt.Fprintf(&out, "%-8s %s: %s\n", strings.Trim(v.word(), "*"), v.text, v.got)
		}
	}
	return out.String()
}
