package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// orders is a service's own database.
type orders struct {
	cursor fleet.Cursor
	done   map[string]string // by prompt
}

// settle stores how prompts end, including those that ended while this program was not
// running. It stores the cursor last: after a crash in between, an outcome comes again.
func (o *orders) settle(ctx context.Context, f fleet.Conversations) error {
	for out, err := range f.Outcomes(ctx, o.cursor) {
		if err != nil {
			return err
		}
		if err := o.deal(out); err != nil {
			return err
		}
		o.cursor = out.Cursor
	}
	return nil
}

// deal deals with an outcome. The example ends with the second.
func (o *orders) deal(out fleet.PromptOutcome) error {
	o.done[out.Ticket.Prompt] = fmt.Sprintf("%s %s: %s", out.Key, out.Ticket.Status, out.Ticket.Text)
	if len(o.done) == 2 {
		return errAllDone
	}
	return nil
}

var errAllDone = errors.New("there is nothing more to do")

// A service that restarts needs no list of the prompts that it has sent.
func ExampleFleet_Outcomes() {
	ctx := context.Background()
	db := store.Memory()
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cli := claudetest.NewCLI(&claudetest.Script{Model: func(c *claudetest.ModelCall) claudetest.Reply { return claudetest.Say("shipped " + c.Prompt) }})
	open := func() *fleet.Fleet {
		f, err := fleet.Open(ctx, fleet.Options{Store: db, Project: "shop", Journal: dir, Session: func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: cli, Cwd: "/"}, nil
		}})
		if err != nil {
			panic(err)
		}
		return f
	}
	f := open()
	for _, order := range []string{"4711", "4712"} {
		if _, err := f.Send(ctx, "acme/order-"+order, fleet.Prompt{ID: fleet.PromptID(order), Text: order}); err != nil {
			panic(err)
		}
	}
	if err := f.Close(ctx); err != nil {
		panic(err)
	}
	f = open() // another process, which has sent nothing
	mine := &orders{done: make(map[string]string)}
	if err := mine.settle(ctx, f); !errors.Is(err, errAllDone) {
		panic(err)
	}
	fmt.Println(mine.done[fleet.PromptID("4711")])
	fmt.Println(mine.done[fleet.PromptID("4712")])
	if err := f.Close(ctx); err != nil {
		panic(err)
	}
	// Output:
	// acme/order-4711 answered: shipped 4711
	// acme/order-4712 answered: shipped 4712
}
