package serve_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// An editor is cut off once its user has another role, or none, and is told why. Until the
// server has looked, its requests are refused already. One whose user stays what they are
// stays connected.
func TestEditorOfOneWhoMayNoLonger(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const list = `{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}`
	begin := fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, root)
	for name, c := range map[string]struct {
		to      api.User // what the user becomes
		request string
		refused string // what its answer says
		stays   bool
	}{
		"nothing happens":    {operator, list, "", true},
		"a lesser role":      {api.User{Name: operator.Name, Role: api.RoleViewer}, begin, "role", false},
		"no role":            {api.User{Name: operator.Name}, list, "Log in", false},
		"unknown by now":     {api.User{}, list, "Log in", false},
		"another user by it": {api.User{Name: "eve", Role: api.RoleOperator}, list, "may no longer", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var changed atomic.Bool
				r := newService(t, store.Memory(), root, quiet, func(o *serve.Options) {
					o.Authenticate = func(*http.Request) (api.User, bool) {
						if changed.Load() {
							return c.to, c.to.Name != ""
						}
						return operator, true
					}
				})
				conn, _, err := r.linesWith(t, nil)()
				if err != nil {
					t.Fatal(err)
				}
				defer conn.CloseNow()
				said, ended := make(chan string, 10), make(chan error, 1)
				go func() {
					for {
						_, text, err := conn.Read(t.Context())
						if err != nil {
							ended <- err
							return
						}
						said <- string(text)
					}
				}()
				write := func(text string) string {
					t.Helper()
					if err := conn.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
						t.Fatal(err)
					}
					select {
					case text := <-said:
						return text
					case <-time.After(10 * time.Second):
						return ""
					}
				}
				write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
				<-time.After(time.Minute + time.Second) // between two looks
				if len(ended) > 0 {
					t.Fatalf("the connection ended by itself: %v", <-ended)
				}
				changed.Store(true)
				if got := write(c.request); strings.Contains(got, `"error"`) == c.stays || !strings.Contains(got, c.refused) {
					t.Errorf("the answer is %s", got)
				}
				<-time.After(31 * time.Second)
				synctest.Wait()
				var end websocket.CloseError
				select {
				case err := <-ended:
					if c.stays || !errors.As(err, &end) || end.Code != websocket.StatusPolicyViolation || !strings.Contains(end.Reason, "may no longer") {
						t.Errorf("the connection ended with %v", err)
					}
				default:
					if !c.stays {
						t.Error("the connection is still open")
					}
				}
			})
		})
	}
}
