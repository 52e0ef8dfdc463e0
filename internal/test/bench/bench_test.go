package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/internal/test/officialsdk"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	if os.Getenv(playVariable) != "" { // this program is also the fake CLI
		if err := play(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestMeasure runs every case with little to do, only to see that the program
// works.
func TestMeasure(t *testing.T) {
	npm.Need(t, officialsdk.Package())
	realcli.Need(t, realcli.Version)
	b := &bench{root: "../../..", rounds: 1, divide: 1000}
	text := ""
	for _, p := range parts() {
		m, err := p.measure(t.Context(), b, regexp.MustCompile(""), false)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range m.rows {
			if r.Ours == nil || *r.Ours <= 0 && !strings.HasPrefix(r.Case, "idle") && !strings.HasPrefix(r.Case, "start") && !mayBeZero[r.Case] {
				t.Errorf("%s was not measured", r.Case)
			}
		}
		for _, v := range m.verdicts {
			if v.got == "" {
				t.Errorf("%q was not judged", v.text)
			}
		}
		text = page(text, m)
	}
	for _, want := range []string{"# Performance", "| small delta, 250 B (limit: split) |", "| and at most 2 goroutines |", "| and under 32 MiB |", "| a sleeping conversation under 2 KiB |", "| three replicas add less than 5 ms to a turn, median |", officialsdk.Version} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q on the page", want)
		}
	}
}

// A session that waits for its next prompt, after a turn with messages and
// callbacks, costs what the page promises.
func TestIdleSession(t *testing.T) {
	const n = 100
	before, goroutines := usage()
	all, err := openSessions(t.Context(), usualTurn(), n)
	if err != nil {
		t.Fatal(err)
	}
	defer all.close()
	if _, err := all.run(t.Context(), usualTurn()); err != nil {
		t.Fatal(err)
	}
	bytes, now := usage()
	for end := time.Now().Add(20 * time.Second); now > goroutines+2*n && time.Now().Before(end); {
		bytes, now = usage() // those of the turns are on their way out
	}
	if now > goroutines+2*n {
		t.Errorf("%d goroutines for %d sessions, want two for each", now-goroutines, n)
	}
	if each := (bytes - before) / n; each > 40<<10 {
		t.Errorf("%.0f bytes for each session, want 40 KiB at most", each)
	}
	runtime.KeepAlive(all)
}

// mayBeZero are differences, and what is counted in hundredths of a second.
var mayBeZero = map[string]bool{rowCost: true, rowNATSAdded: true, rowOwnWall: true, rowOwnCPU: true, rowCLIRests: true, rowCLIDelta: true}

// Of several runs the page shows the median and the worst, and a goal that one of
// them missed is missed.
func TestRuns(t *testing.T) {
	runs := make([][]row, 5)
	for i, trip := range []float64{12, 13, 20, 14, 15} {
		runs[i] = []row{
			{Case: "hook round trip (limit: echo), median, ns", Ours: new(trip), Limit: new(10.0), TS: new(50.0)},
			{Case: rowIdle, Ours: new(1000 * trip)},
		}
		for j := range runs[i] {
			runs[i][j].ratios()
		}
	}
	got := make(map[string]verdict)
	for _, v := range judgeRuns(sessionGoals(), runs) {
		got[v.text] = v
	}
	hook := got["hook round trip at most 1.3× the raw pipe, median"]
	if hook.ok || hook.got != "1.40×" || hook.worst != "2.00×" || hook.word() != "**2 of 5**" {
		t.Errorf("%+v", hook)
	}
	idle := got["and each of them under 40 KiB"]
	if !idle.ok || idle.got != "13.7 KiB" || idle.worst != "19.5 KiB" || idle.word() != "5 of 5" {
		t.Errorf("%+v", idle)
	}
	if none := got["tool results of 10 MB at least 4×"]; none.word() != "not measured" {
		t.Errorf("%+v", none)
	}
	if want := "| hook round trip (limit: echo), median | 14 ns | 20 ns | 3.57× | 2.50× | 1.40× | 2.00× |"; !strings.Contains(worstTable(runs), want) {
		t.Errorf("no %s in %s", want, worstTable(runs))
	}
	runs[2][0].TS = new(-3.0) // less than nothing is left of it
	if want := "| 14 ns | 20 ns | 3.57× | – | 1.40× | 2.00× |"; !strings.Contains(worstTable(runs), want) {
		t.Errorf("no %s in %s", want, worstTable(runs))
	}
	if got, want := promises(judgeRuns(sessionGoals(), runs)), "\n### What held in all 5 runs\n\n"+
		"- hook round trip at most 2.00× the raw pipe, median (the goal was met in 2)\n"+
		"- 10,000 idle sessions at once in process, each of which answers again: none lost\n"+
		"- and each of them under 40 KiB: 19.5 KiB\n"; got != want {
		t.Errorf("promises\n%s\nwant\n%s", got, want)
	}
	if one := promises(judge(sessionGoals(), runs[0])); one != "" {
		t.Errorf("promises of one run: %s", one)
	}
	if rows := medianRows(runs); *rows[0].Ours != 14 || *rows[0].OursVsLimit != 1.4 || rows[0].Allocs != nil {
		t.Errorf("%+v", rows[0])
	}
}

// The stopwatch runs while the CLI waits for us: to what we write, and from the end
// of the line that we await, however it comes in pieces.
func TestStopwatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stopwatch{awaited: []string{`"type":"reply"`, `"type":"result"`}}
		pass := func(d time.Duration) { <-time.After(d) }
		w.begin()
		pass(time.Millisecond)
		w.end() // the first request
		pass(time.Hour)
		w.read([]byte("{\"type\":\"other\"}\n{\"typ"))
		pass(time.Hour)
		w.read([]byte(`e":"reply"`))
		pass(time.Hour)
		w.read([]byte("}\n{\"type\":\"result\"}\n")) // an unsolicited result
		pass(2 * time.Millisecond)
		w.end() // the second request
		w.end()
		pass(time.Hour)
		if w.missed() != `"type":"result"` {
			t.Errorf("missed %q", w.missed())
		}
		w.read([]byte("{\"type\":\"result\"}\n"))
		pass(4 * time.Millisecond)
		w.end()
		if w.own != 7*time.Millisecond || w.missed() != "" {
			t.Errorf("%v, missed %q", w.own, w.missed())
		}
	})
}

// The spread is that of the middle half of the rounds.
func TestSpread(t *testing.T) {
	samples := make([]sample, 8)
	for i := range samples {
		samples[i].median = time.Duration(10 + i)
	}
	samples[0].median = 1000 // one that went wrong does not count
	of := func(s sample) float64 { return float64(s.median) }
	if got := spread(samples, of); got == nil || *got < 0.15 || *got > 0.35 {
		t.Errorf("spread %v", got)
	}
	if spread(samples[:3], of) != nil {
		t.Error("a spread of three rounds")
	}
}

// A part that is measured again leaves the others on the page as they are.
func TestPage(t *testing.T) {
	list := parts()
	text := ""
	for i, p := range list {
		text = page(text, &measured{part: p, load: fmt.Sprint("load ", i)})
	}
	again := page(text, &measured{part: list[0], load: "load 0"})
	if again != text {
		t.Errorf("the page has changed:\n%s\nit was\n%s", again, text)
	}
	if n := strings.Count(text, "| load before | load"); n != len(list) {
		t.Errorf("%d sections, want %d:\n%s", n, len(list), text)
	}
}

func TestRow(t *testing.T) {
	r := row{Case: "c, ns", Ours: new(1500.0), TS: new(4500.0), Limit: new(1000.0)}
	r.ratios()
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(line, &members); err != nil {
		t.Fatal(err)
	}
	want := []string{"allocs", "case", "cpu", "limit", "limit_cpu", "ours", "ours_vs_limit", "ours_vs_ts", "spread", "ts", "ts_cpu"}
	if got := slices.Sorted(maps.Keys(members)); !slices.Equal(got, want) {
		t.Errorf("members %q, want %q", got, want)
	}
	if members["ours_vs_limit"] != 1.5 || members["allocs"] != nil {
		t.Errorf("got %s", line)
	}
	if got, want := strings.Join(r.cells(), "|"), "c|1.50 µs|4.50 µs|1.00 µs|3.00×|1.50×|–|–|–|–|–"; got != want {
		t.Errorf("cells %s, want %s", got, want)
	}
}

func TestJudge(t *testing.T) {
	rows := []row{
		{Case: "small delta, 250 B (limit: split), ns", Ours: new(2.0), TS: new(11.0), Allocs: new(3.0)},
		{Case: "hook round trip (limit: echo), median, ns", Ours: new(17.0), Limit: new(10.0)},
		{Case: rowIdle, Ours: new(1000.0)},
	}
	words := make(map[string]string)
	for _, v := range judge(sessionGoals(), rows) {
		words[v.text] = v.word()
	}
	for text, want := range map[string]string{
		"small deltas at least 5× as fast as the TypeScript SDK": "met",
		"and at most 2 allocations":                              "**not met**",
		"hook round trip at most 1.3× the raw pipe, median":      "**not met**",
		"and each of them under 40 KiB":                          "met",
		"tool results of 10 MB at least 4×":                      "not measured",
	} {
		if words[text] != want {
			t.Errorf("%s: %s, want %s", text, words[text], want)
		}
	}
	if !anyMissed(judge(sessionGoals(), rows)) || anyMissed(judge(sessionGoals(), rows[2:])) {
		t.Error("missed goals look like met ones")
	}
}

// A fleet whose memory grows from round to round misses its goal, and a report that
// lacks a round is an error.
func TestManyReport(t *testing.T) {
	r := manyReport{Conversations: 100, Rounds: 3, Answered: 300, MostLive: 8, Heap: []float64{1e6, 1.1e6, 1.15e6, 1.2e6}, TurnNS: []float64{3, 1, 2}}
	words := func() (words []string) {
		for _, v := range judge(manyGoals(onNATS), r.rows(onNATS)) {
			words = append(words, v.word())
		}
		return words
	}
	if got, want := words(), []string{"met", "met", "met"}; r.check() != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %q", r.check(), got)
	}
	if turn := finder(r.rows(onNATS))(manyTurn.of(onNATS)); *turn.Ours != 2 {
		t.Errorf("a prompt took %v", *turn.Ours)
	}
	r.Answered, r.Heap[3] = 299, 1.25e6
	if got, want := words(), []string{"**not met**", "**not met**", "**not met**"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	r.Heap = r.Heap[:3]
	if r.check() == nil {
		t.Error("a round without its heap")
	}
}

// The figures of module otelclaude are read from what its benchmark prints, and
// a benchmark that prints none is an error.
func TestObservedRows(t *testing.T) {
	rows, err := observedRows("goos: linux\nBenchmarkDeltas-2   \t     200\t  27688645 ns/op\t      3310 noop-ns\t      3233 off-ns\t      3239.5 on-ns\nPASS\n")
	if err != nil || len(rows) != 2 || *rows[0].Ours != 3239.5 || *rows[0].Limit != 3233 || *rows[1].Ours != 3310 {
		t.Errorf("%+v, %v", rows, err)
	}
	for _, v := range judge(telemetryGoals()[:2], rows) {
		if v.word() != "met" {
			t.Errorf("%+v", v)
		}
	}
	if _, err := observedRows("PASS\n"); err == nil {
		t.Error("figures from nothing")
	}
}

// Telemetry is compared with this build without its hooks, and it is an error if
// they can no longer be taken out.
func TestWithoutHooks(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay, err := withoutHooks(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	if long.Enabled() { // it compiles the module once more
		cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, ".")
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	empty, err := os.ReadFile(filepath.Join(dir, "trace.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(empty), "callbackDone(c TraceCallback) {\n\treturn\n") {
		t.Errorf("a hook is left:\n%s", empty)
	}
	for _, source := range []string{"package p", "package p\nfunc (t *tracer) x() int { return 1 }"} {
		if _, err := emptyTracer([]byte(source)); err == nil {
			t.Errorf("taken out of %q", source)
		}
	}
}
