// Command tools gives Claude two tools that are Go functions.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"sync"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/tool"
)

func main() {
	shop := &Shop{stock: map[string]int{"apple": 3, "pear": 0}}
	if err := run(context.Background(), os.Stdout, shop, nil); err != nil {
		log.Fatal(err)
	}
}

// Shop is the state that the tools work on. Calls come from several goroutines.
type Shop struct {
	mu    sync.Mutex
	stock map[string]int
}

// Order has the arguments of a tool. The model sees names, types and tags;
// arguments that do not fit never get here.
type Order struct {
	Fruit  string `json:"fruit" enum:"apple,pear"`
	Amount int    `json:"amount" jsonschema:"how many pieces"`
}

// Receipt is the output of a tool. The model reads it as JSON.
type Receipt struct {
	Left int `json:"left"`
}

// Sell is a tool. An error is also an answer: the model reads it and continues.
func (s *Shop) Sell(_ context.Context, in Order) (Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.Amount < 1 || in.Amount > s.stock[in.Fruit] {
		return Receipt{}, fmt.Errorf("sell 1 to %d", s.stock[in.Fruit])
	}
	s.stock[in.Fruit] -= in.Amount
	return Receipt{Left: s.stock[in.Fruit]}, nil
}

// Count is a tool that changes nothing, so that calls of it may run at once.
func (s *Shop) Count(_ context.Context, in struct{ Fruit string }) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stock[in.Fruit], nil
}

func run(ctx context.Context, w io.Writer, shop *Shop, cli claude.Transport) error {
	server := tool.NewServer(
		tool.New("sell", "Sell fruit to the customer", shop.Sell),
		tool.New("count", "Count the fruit in stock", shop.Count).ReadOnly(),
	)
	res, err := claude.Ask(ctx, "I want four apples, or as many as you have.", &claude.Options{
		MCPServers:   claude.MCPServers{"shop": server},
		AllowedTools: []string{"mcp__shop"}, // all tools of that server
		Tools:        []string{},            // and none of the CLI's own
		Transport:    cli,
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(w, res.Text)
	return nil
}
