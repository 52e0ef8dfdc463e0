package price_test

import (
	"math"
	"testing"

	"github.com/claude-agent-go/claude/internal/price"
	"github.com/claude-agent-go/claude/message"
)

func TestCanonical(t *testing.T) {
	for name, want := range map[string]string{
		"claude-opus-4-20250514":                       "claude-opus-4",
		"claude-opus-4-5-20251101":                     "claude-opus-4-5",
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0": "claude-sonnet-4-5",
		"claude-sonnet-4-5@20250929":                   "claude-sonnet-4-5",
		"claude-opus-5[1m]":                            "claude-opus-5",
		"anthropic.claude-opus-5-v1":                   "claude-opus-5",
		"claude-3-7-sonnet-latest":                     "claude-3-7-sonnet",
		"gpt":                                          "gpt",
	} {
		if got := price.Canonical(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestOf(t *testing.T) {
	million := message.Usage{InputTokens: 1e6, OutputTokens: 1e6}
	long := message.Usage{InputTokens: 100_000, CacheReadInputTokens: 1e6}
	cached := message.Usage{CacheReadInputTokens: 1e6, CacheCreationInputTokens: 2e6, CacheCreation: message.CacheCreation{Ephemeral1hInputTokens: 1e6}}
	fast := message.Usage{InputTokens: 1e6, Speed: "fast"}
	search := message.Usage{ServerToolUse: message.ServerToolUse{WebSearchRequests: 3}}
	said := func(in, out int, usd float64) message.ModelUsage {
		return message.ModelUsage{InputTokens: in, OutputTokens: out, CostUSD: usd}
	}
	for name, c := range map[string]struct {
		model string
		usage message.Usage
		said  message.ModelUsage
		want  float64 // negative: unknown
	}{
		"listed":                        {"claude-sonnet-4-5-20250929", million, message.ModelUsage{}, 18},
		"the cache":                     {"claude-opus-5", cached, message.ModelUsage{}, 0.5 + 6.25 + 10},
		"a cache of its own price":      {"claude-opus-5-5", cached, message.ModelUsage{}, 0.2 + 5 + 8},
		"fast":                          {"claude-opus-5", fast, message.ModelUsage{}, 10},
		"fast, another":                 {"claude-opus-4-6", fast, message.ModelUsage{}, 30},
		"fast, and the CLI has said so": {"claude-opus-5", fast, said(2e6, 0, 20), 10},
		"a long prompt":                 {"claude-haiku-5-5", long, message.ModelUsage{}, 0.05 + 0.05},
		"searches":                      {"claude-opus-5", search, message.ModelUsage{}, 0.03},
		"as the CLI says":               {"claude-sonnet-4-5", million, said(2e6, 1e6, 21), 18},
		"dearer than listed":            {"claude-sonnet-4-5", million, said(2e6, 1e6, 42), 36},
		"not listed":                    {"claude-new-9", million, message.ModelUsage{}, -1},
		"not listed, without tokens":    {"claude-new-9", million, message.ModelUsage{CostUSD: 1}, -1},
		"not listed, for nothing":       {"claude-new-9", million, said(1e6, 0, 0), -1},
		"not listed, but said":          {"claude-new-9", million, said(1e6, 1e6, 24), 24},
		"said with searches": {"claude-new-9", million, message.ModelUsage{
			InputTokens: 1e6, WebSearchRequests: 100, CostUSD: 5,
		}, 4 + 20},
	} {
		usd, known := price.Of(c.model, c.usage, c.said)
		if known != (c.want >= 0) || known && math.Abs(usd-c.want) > 1e-9 {
			t.Errorf("%s: $%v, %v, want $%v", name, usd, known, c.want)
		}
	}
}
