package otelclaude_test

import (
	"bytes"
	"testing"
)

// The tokens of subagents are recorded like their cost: by model, and each turn
// only once, although the CLI counts from the beginning of the session.
func TestTokensOfSubagents(t *testing.T) {
	r := record(t)
	l := listen(t, &r.config)
	said := func(models string) {
		const before = `"modelUsage":{"opus":{"inputTokens":1,"costUSD":0.5}}`
		at := bytes.Index(l.player.round, []byte(`"modelUsage":`))
		end := at + bytes.Index(l.player.round[at:], []byte(`,"permission_denials"`))
		if at < 0 || end < at {
			t.Fatalf("no %s in the result", before)
		}
		l.player.round = bytes.Join([][]byte{l.player.round[:at], l.player.round[end:]}, []byte(`"modelUsage":`+models))
	}
	said(`{"opus":{"inputTokens":1000,"outputTokens":5,"cacheReadInputTokens":300,"cacheCreationInputTokens":7,"costUSD":0.5},"haiku":{"inputTokens":40,"outputTokens":3,"costUSD":0.1}}`)
	l.round()
	said(`{"opus":{"inputTokens":1010,"outputTokens":6,"cacheReadInputTokens":300,"cacheCreationInputTokens":7,"costUSD":0.6},"haiku":{"inputTokens":40,"outputTokens":3,"costUSD":0.1}}`)
	l.round()
	l.session.Close()
	tokens, cached := r.metrics()["gen_ai.client.token.usage"], r.metrics()["claude.token.cached"]
	for by, want := range map[string]float64{
		"name=invoke_agent model=opus type=input": 1317, "name=invoke_agent model=opus type=output": 6,
		"name=invoke_agent model=haiku type=input": 40, "name=invoke_agent model=haiku type=output": 3,
	} {
		if tokens.points[by] != want {
			t.Errorf("%s: %v, want %v", by, tokens.points[by], want)
		}
	}
	for by, want := range map[string]float64{"name=invoke_agent model=opus type=cache_read": 300, "name=invoke_agent model=opus type=cache_creation": 7} {
		if cached.points[by] != want {
			t.Errorf("%s: %v, want %v", by, cached.points[by], want)
		}
	}
	if len(tokens.points) != 4 || len(cached.points) != 2 {
		t.Errorf("tokens %v, cached %v", tokens.points, cached.points)
	}
}

// A CLI that does not count by model still counts its main conversation.
func TestTokensWithoutModels(t *testing.T) {
	r := record(t)
	l := listen(t, &r.config)
	l.player.round = bytes.Replace(l.player.round, []byte(`"modelUsage":{"opus":{"inputTokens":1,"costUSD":0.5}}`), []byte(`"modelUsage":{}`), 1)
	l.round()
	l.session.Close()
	if got := r.metrics()["gen_ai.client.token.usage"].points; got["name=invoke_agent model=opus type=input"] != 10 || got["name=invoke_agent model=opus type=output"] != 5 {
		t.Errorf("%v", got)
	}
}
