package otelclaude_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// metric is a metric as an exporter sees it.
type metric struct {
	unit   string
	points map[string]float64 // the sum, by the attributes
	counts map[string]uint64  // of a histogram
}

// metrics returns all metrics by name.
func (r *recorder) metrics() map[string]metric {
	r.t.Helper()
	var data metricdata.ResourceMetrics
	if err := r.reader.Collect(context.Background(), &data); err != nil {
		r.t.Fatal(err)
	}
	all := make(map[string]metric)
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			out := metric{unit: m.Unit, points: make(map[string]float64), counts: make(map[string]uint64)}
			switch d := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					out.points[attributes(p.Attributes)], out.counts[attributes(p.Attributes)] = p.Sum, p.Count
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					out.points[attributes(p.Attributes)], out.counts[attributes(p.Attributes)] = float64(p.Sum), p.Count
				}
			case metricdata.Sum[float64]:
				for _, p := range d.DataPoints {
					out.points[attributes(p.Attributes)] = p.Value
				}
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					out.points[attributes(p.Attributes)] = float64(p.Value)
				}
			default:
				r.t.Fatalf("metric %s is a %T", m.Name, d)
			}
			all[m.Name] = out
		}
	}
	return all
}

// attributes are those of a point, sorted by their names; the provider, which is
// always the same, left out.
func attributes(set attribute.Set) string {
	var all []string
	for _, a := range set.ToSlice() {
		if a.Key != "gen_ai.provider.name" {
			all = append(all, string(a.Key[strings.LastIndex(string(a.Key), ".")+1:])+"="+a.Value.String())
		}
	}
	return strings.Join(all, " ")
}

// Every metric of a session has the right unit, value and attributes. The clock
// stands still but for what waits.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := record(t)
		thinks := func(context.Context, *permission.Request) (permission.Decision, error) {
			<-time.After(7 * time.Second)
			return permission.Deny("no"), nil
		}
		var result *message.Result
		cli := claudetest.NewCLI(say(
			claudetest.Fail(529, "overloaded_error", "Overloaded"),
			claudetest.UseTool("Bash", command{"make"}).After(2*time.Second).Usage(claudetest.ReplyUsage{InputTokens: 10, OutputTokens: 5, CacheReadInputTokens: 100, CacheCreationInputTokens: 7}),
			claudetest.Say("done").Usage(claudetest.ReplyUsage{InputTokens: 1, OutputTokens: 2, CacheReadInputTokens: 3, CacheCreationInputTokens: 4}),
		))
		s, err := claude.Connect(t.Context(), r.instrument(&claude.Options{Transport: cli, CanUseTool: thinks}))
		if err != nil {
			t.Fatal(err)
		}
		if result, err = s.Ask(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := r.metrics()["claude.sessions"].points[""]; got != 1 {
			t.Errorf("%v live sessions", got)
		}
		s.Close()

		all := r.metrics()
		model := value(r.find("invoke_agent"), "gen_ai.response.model")
		by := "name=invoke_agent model=" + model
		want := map[string]struct {
			unit, by string
			value    float64
		}{
			"gen_ai.client.operation.duration": {"s", by, 9},
			"gen_ai.client.token.usage":        {"{token}", by + " type=input", 125},
			"claude.token.cached":              {"{token}", by + " type=cache_read", 103},
			"claude.cost":                      {"USD", by, result.TotalCostUSD},
			"claude.permission.wait":           {"s", "name=Bash", 7},
			"claude.sessions":                  {"{session}", "", 0},
			"claude.api.retries":               {"{retry}", "", 1},
		}
		for name, w := range want {
			got, ok := all[name].points[w.by]
			if !ok || all[name].unit != w.unit || got < w.value-0.001 || got > w.value+1 {
				t.Errorf("%s: %v %s by %q, want %v %s; all: %v", name, got, all[name].unit, w.by, w.value, w.unit, all[name].points)
			}
		}
		if names := slices.Sorted(maps.Keys(all)); len(names) != len(want) {
			t.Errorf("metrics %q", names)
		}
		for kind, w := range map[string]struct {
			name  string
			value float64
		}{
			"input": {"gen_ai.client.token.usage", 125}, "output": {"gen_ai.client.token.usage", 7},
			"cache_read": {"claude.token.cached", 103}, "cache_creation": {"claude.token.cached", 11},
		} {
			if got := all[w.name].points[by+" type="+kind]; got != w.value || len(all[w.name].points) != 2 {
				t.Errorf("%s: %v tokens of the kind %s, want %v; all: %v", w.name, got, kind, w.value, all[w.name].points)
			}
		}
		if got := value(r.find("invoke_agent"), "gen_ai.usage.input_tokens"); got != "125" {
			t.Errorf("the span has %s input tokens, want those that were cached too: 125", got)
		}
		if got := all["gen_ai.client.operation.duration"].counts["type=permission_denied name=execute_tool name=Bash"]; got != 1 {
			t.Errorf("durations %v", all["gen_ai.client.operation.duration"].counts)
		}
		if result.TotalCostUSD <= 0 {
			t.Errorf("the turn has cost %v", result.TotalCostUSD)
		}
	})
}

// The CLI reports the cost of all turns of a session together; each is recorded
// once.
func TestCostOfTurns(t *testing.T) {
	r := record(t)
	s, err := claude.Connect(t.Context(), r.instrument(&claude.Options{Transport: claudetest.New(claudetest.Say("one"), claudetest.Say("two"), claudetest.Say("three"))}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	total := 0.0
	for range 3 {
		result, err := s.Ask(t.Context(), "hello")
		if err != nil {
			t.Fatal(err)
		}
		total = result.TotalCostUSD
	}
	s.Close()
	sum := 0.0
	for _, usd := range r.metrics()["claude.cost"].points {
		sum += usd
	}
	if total <= 0 || sum < total*0.999 || sum > total*1.001 {
		t.Errorf("%v US dollars are recorded, the session has cost %v", sum, total)
	}
}

// The CLI reports how long the first token took.
func TestTimeToFirstToken(t *testing.T) {
	r := record(t)
	l := listen(t, &r.config)
	l.player.round = bytes.Replace(l.player.round, []byte(`"num_turns":1,`), []byte(`"num_turns":1,"ttft_ms":1234.5,`), 1)
	l.round()
	l.session.Close()
	if got := r.metrics()["gen_ai.client.operation.time_to_first_chunk"]; got.unit != "s" || got.points["name=invoke_agent model=opus"] != 1.2345 {
		t.Errorf("%+v", got)
	}
}

// The wait of a prompt for a CLI is measured from its acceptance.
func TestFleetWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := record(t)
		o := r.fleetOptions(store.Memory(), claudetest.New(claudetest.Say("one").After(30*time.Second), claudetest.Say("two")))
		f := r.openFleet(o)
		defer f.Close(context.Background())
		for range 2 {
			if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "hello"}); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Minute)
		wait := r.metrics()["claude.fleet.wait"]
		if got := wait.points[""]; wait.unit != "s" || wait.counts[""] != 2 || got < 29.9 || got > 31 {
			t.Errorf("%+v", wait)
		}
	})
}
