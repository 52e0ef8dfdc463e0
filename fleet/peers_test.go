package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A model that the CLI refuses in another process is not kept, and the caller reads why.
func TestRefusedModelElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, worker := apart(t, store.Memory(), newScripted(), nil)
		defer closeFleet(t, worker)
		defer closeFleet(t, client)
		ask(t, client, "ada", "hello") // it stays awake
		if err := client.SetModel(t.Context(), "ada", "opus"); err != nil {
			t.Fatal(err)
		}
		err := client.SetModel(t.Context(), "ada", "defualt")
		if option, ok := errors.AsType[*claude.OptionError](err); !errors.Is(err, store.ErrInvalid) || !ok || option.Field != "Model" || option.Problem == "" {
			t.Errorf("SetModel: %v", err)
		}
		if about, ok := errors.AsType[*fleet.ConversationError](err); !ok || about.Key != "ada" {
			t.Errorf("SetModel does not name the conversation: %v", err)
		}
		if info, err := client.Get(t.Context(), "ada"); err != nil || info.Model != "opus" {
			t.Errorf("chosen is %q, %v", info.Model, err)
		}
	})
}

// A request to which the process with the lease does not reply is given up after a bounded time, or when its
// caller leaves, or when the fleet is closed. What was chosen is stored nevertheless.
func TestNobodyReplies(t *testing.T) {
	for name, c := range map[string]struct {
		leaves, closes time.Duration
		want           error
		took           time.Duration
	}{
		"nobody":           {want: nil, took: 5 * time.Second},
		"the caller left":  {leaves: time.Second, want: context.DeadlineExceeded, took: time.Second},
		"the fleet closed": {closes: 2 * time.Second, want: fleet.ErrClosed, took: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := store.Memory()
				f := open(t, db, nil, func(o *fleet.Options) {
					withoutCLIs(o)
					o.Bus = newRadio()
				})
				defer closeFleet(t, f)
				send(t, f, "ada", "hello")
				unanswered(t, db)
				ctx := t.Context()
				if c.leaves > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.leaves)
					defer cancel()
				}
				if c.closes > 0 {
					time.AfterFunc(c.closes, func() { closeFleet(t, f) })
				}
				begin := time.Now()
				err := f.SetPermissionMode(ctx, "ada", permission.ModePlan)
				if took := time.Since(begin); !errors.Is(err, c.want) || took != c.took {
					t.Errorf("%v after %v, want %v after %v", err, took, c.want, c.took)
				}
				g := open(t, db, nil, withoutCLIs)
				defer closeFleet(t, g)
				if info, err := g.Get(t.Context(), "ada"); err != nil || info.Mode != permission.ModePlan {
					t.Errorf("chosen is %q, %v", info.Mode, err)
				}
			})
		})
	}
}

// An interrupt is made once its mark is stored, even if the caller leaves before a process
// has replied.
func TestInterruptWithoutReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		cli.hold = make(chan struct{})
		worker := open(t, db, cli, nil) // which the radio does not reach
		defer closeFleet(t, worker)
		client := open(t, db, nil, func(o *fleet.Options) {
			withoutCLIs(o)
			o.Bus = newRadio()
		})
		defer closeFleet(t, client)
		id := send(t, client, "ada", "hello")
		<-time.After(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := client.Interrupt(ctx, "ada"); err != nil || ctx.Err() == nil {
			t.Errorf("%v, and the caller has left: %v", err, ctx.Err())
		}
		<-time.After(time.Minute)
		if o := outcome(t, client, "ada", id); o.Status != fleet.PromptFailed || !o.Interrupted {
			t.Errorf("%+v", o)
		}
		close(cli.hold)
	})
}

// A process without a Bus asks nobody, and waits for nobody.
func TestNoBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, store.Memory(), nil, withoutCLIs)
		defer closeFleet(t, f)
		send(t, f, "ada", "hello")
		begin := time.Now()
		if err := f.SetPermissionMode(t.Context(), "ada", permission.ModePlan); err != nil || time.Since(begin) > 0 {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// Nonsense on a topic is left out, and a request for a conversation that does not run
// here gets no reply.
func TestForeignRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRadio()
		client, worker := apart(t, store.Memory(), newScripted(), func(o *fleet.Options) { o.Bus = r })
		defer closeFleet(t, worker)
		defer closeFleet(t, client)
		ask(t, client, "ada", "hello") // it stays awake
		replies := 0
		for _, from := range []string{"x", "x y"} {
			stop, err := r.Subscribe(t.Context(), "replies/p/"+from, func([]byte) { replies++ })
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
		}
		for _, request := range []string{"", "nonsense", "[]", "{}", `{"key":"ada"}`, `{"id":"1","key":"ada"}`, `{"from":"x","key":"ada"}`, `{"id":"1","from":"x y","key":"ada"}`,
			`{"id":"1","from":"x","key":"bob"}`, `{"id":"1","from":"x"}`, `{"id":"1","from":"x","key":"bob","do":{"delete":true}}`} {
			r.Publish("requests/p", []byte(request))
			r.Publish("live/p/ada", []byte(request))
		}
		synctest.Wait()
		if replies != 0 {
			t.Errorf("%d replies to nonsense", replies)
		}
		r.Publish("requests/p", []byte(`{"id":"1","from":"x","key":"ada"}`))
		synctest.Wait()
		if replies != 1 {
			t.Errorf("%d replies to a request for live text", replies)
		}
	})
}

// deaf is a Bus on which some topics cannot be subscribed to.
type deaf struct {
	*radio
	topic string
}

func (d deaf) Subscribe(ctx context.Context, topic string, do func([]byte)) (func(), error) {
	if strings.HasPrefix(topic, d.topic) {
		return nil, fmt.Errorf("%s cannot be heard", d.topic)
	}
	return d.radio.Subscribe(ctx, topic, do)
}

// A fleet that cannot hear the other processes does not open, and leaves no subscription.
func TestOpenWithoutHearing(t *testing.T) {
	for _, topic := range []string{"replies", "requests"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRadio()
			f, err := fleet.Open(t.Context(), fleet.Options{
				Store: store.Memory(), Project: "p", Bus: deaf{r, topic}, Journal: t.TempDir(),
				Session: func(context.Context, string) (*claude.Options, error) {
					return &claude.Options{Transport: newScripted()}, nil
				},
			})
			if err == nil || !strings.Contains(err.Error(), topic+" cannot be heard") {
				t.Errorf("%v, %v", f, err)
			}
			for topic, ears := range r.ears {
				if len(ears) > 0 {
					t.Errorf("%s is still subscribed to", topic)
				}
			}
		})
	}
}

// mute is a Bus that loses all replies.
type mute struct{ fleet.Bus }

func (m mute) Publish(topic string, message []byte) {
	if !strings.HasPrefix(topic, "replies/") {
		m.Bus.Publish(topic, message)
	}
}

// A deletion that another process has made is reported as made, even if its reply is lost.
func TestDeleteReplyLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := mute{newRadio()}
		client, worker := apart(t, store.Memory(), newScripted(), func(o *fleet.Options) { o.Bus = bus })
		defer closeFleet(t, worker)
		defer closeFleet(t, client)
		ask(t, client, "ada", "hello") // it stays awake
		if err := client.Delete(t.Context(), "ada"); err != nil {
			t.Errorf("Delete: %v", err)
		}
		if _, err := client.Get(t.Context(), "ada"); !errors.Is(err, fleet.ErrUnknown) {
			t.Errorf("Get: %v", err)
		}
	})
}

// undeletable is a store that keeps the deletion of a session waiting.
type undeletable struct{ store.Fleet }

func (undeletable) Delete(ctx context.Context, _ store.Key, _ store.Fence) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// A deletion that another process has begun and cannot finish in time is not reported as
// one that has changed nothing.
func TestDeleteElsewhereTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, worker := apart(t, undeletable{store.Memory()}, newScripted(), nil)
		defer closeFleet(t, worker)
		defer closeFleet(t, client)
		ask(t, client, "ada", "hello") // it stays awake
		if err := client.Delete(t.Context(), "ada"); err == nil || errors.Is(err, fleet.ErrElsewhere) {
			t.Errorf("Delete: %v", err)
		}
		if _, err := client.Get(t.Context(), "ada"); !errors.Is(err, fleet.ErrDeleted) {
			t.Errorf("Get: %v", err)
		}
	})
}
