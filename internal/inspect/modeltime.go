package inspect

import "slices"

// Span is a stretch of time.
type Span struct {
	FromMS float64 `json:"from_ms"`
	ToMS   float64 `json:"to_ms"`
}

// modelClock finds out when the model worked: from the moment it had everything,
// the prompt or the results of all tools, until its last word. Questions of the
// CLI in between, such as hooks at a prompt, are not its time.
type modelClock struct {
	from  float64
	spans []Span
	open  bool // the last span may still grow
}

// ready notes that the model can begin now.
func (c *modelClock) ready(ms float64) {
	c.from, c.open = ms, false
}

// busy notes that the wait until now was not for the model, if no word has come
// yet.
func (c *modelClock) busy(ms float64) {
	if !c.open {
		c.from = ms
	}
}

// word notes that the model answers.
func (c *modelClock) word(ms float64) {
	if c.open {
		c.spans[len(c.spans)-1].ToMS = ms
		return
	}
	c.spans = append(c.spans, Span{min(c.from, ms), ms})
	c.open = true
}

// ModelMS is how long the model itself worked in the turn.
func (t *Turn) ModelMS() float64 {
	total := 0.0
	for _, s := range t.Model {
		total += s.ToMS - s.FromMS
	}
	return total
}

// WaitedMS is how long the call waited for the answers to questions for
// permission.
func (t *Tool) WaitedMS() float64 {
	total := 0.0
	for _, x := range t.Asked {
		if x.Kind == KindPermission && x.LatencyMS != nil {
			total += *x.LatencyMS
		}
	}
	return total
}

// RunFromMS is when the tool could begin: after the call and after everything
// that was asked before it could run.
func (t *Tool) RunFromMS() float64 {
	from := t.StartMS
	for _, x := range t.Asked {
		if x.EndLine != 0 && (x.Kind == KindPermission || x.event == "PreToolUse") {
			from = max(from, x.EndMS)
		}
	}
	if t.Done {
		from = min(from, t.EndMS)
	}
	return from
}

// RanMS is how long the tool itself took, 0 if it has no result.
func (t *Tool) RanMS() float64 {
	if !t.Done {
		return 0
	}
	return t.EndMS - t.RunFromMS()
}

// models lists the models that were used, in the order in which they were first
// named.
type models struct{ names []string }

func (m *models) add(name string) {
	if name != "" && name != "<synthetic>" && !slices.Contains(m.names, name) {
		m.names = append(m.names, name)
	}
}
