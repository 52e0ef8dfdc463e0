package main

import (
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
)

func TestTools(t *testing.T) {
	cli := claudetest.New(
		claudetest.UseTool("mcp__shop__sell", map[string]any{"fruit": "apple", "amount": "four"}),
		claudetest.UseTool("mcp__shop__sell", Order{"apple", 4}),
		claudetest.UseTool("mcp__shop__count", map[string]string{"Fruit": "apple"}),
		claudetest.UseTool("mcp__shop__sell", Order{"apple", 3}),
		claudetest.Say("Here are three apples."),
	)
	shop := &Shop{stock: map[string]int{"apple": 3}}
	var out strings.Builder
	if err := run(t.Context(), &out, shop, cli); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "Here are three apples.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if shop.stock["apple"] != 0 {
		t.Errorf("%d apples are left, want none", shop.stock["apple"])
	}
	for i, want := range []string{"amount", "sell 1 to 3", "3", `{"left":0}`} {
		if got := cli.Recording().Tools()[i].Output; !strings.Contains(got, want) {
			t.Errorf("call %d gave %q, want %q in it", i, got, want)
		}
	}
}
