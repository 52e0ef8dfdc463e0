package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// A deletion that may look in the wrong folder, because making the options has failed, says
// so in the log.
func TestFailureOfOptionsIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails bool
		var log bytes.Buffer
		f := open(t, store.Memory(), newScripted(), func(o *fleet.Options) {
			usual := o.Session
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
				own, err := usual(ctx, key)
				if fails {
					return own, errors.New("the folder of the tenant is not known: the database is down")
				}
				return own, err
			}
		})
		defer closeFleet(t, f)
		send(t, f, "ada", "hello")
		<-time.After(time.Second)
		fails = true
		if err := f.Delete(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), "the database is down") {
			t.Errorf("the log says nothing: %q", log.String())
		}
	})
}
