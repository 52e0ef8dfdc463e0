package serve_test

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// announces is a change of a server: the CLIs of its first preset announce commands.
func announces(commands ...control.Command) func(*serve.Options) {
	return func(o *serve.Options) {
		o.Presets[0].Options.Transport = claudetest.NewCLI(&claudetest.Script{Options: host.Options{Info: control.Info{Commands: commands}}})
	}
}

// The commands of a conversation are listed once its agent has run, to those who see the
// conversation. Before that the list is empty.
func TestCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), announces(
		control.Command{Name: "review", Description: "Reviews the code", ArgumentHint: "[file]", Aliases: []string{"r"}, Builtin: true}, control.Command{Name: "hi"}))
	ada, eve := r.as("ada", api.RoleOperator), r.as("eve", api.RoleViewer)
	c := ada.begin("")
	path := "/v1/conversations/" + c.ID + "/commands"
	if got := string(ada.do("GET", path, nil).body); got != `{"items":[]}` {
		t.Errorf("before the agent has run: %s", got)
	}
	want[api.Prompt](ada, ada.do("POST", "/v1/conversations/"+c.ID+"/prompts", api.NewPrompt{Content: api.Text("hello")}), http.StatusAccepted)
	ada.follow("/v1/conversations/"+c.ID+"/events?after=0", untilTurns(1))
	all := []api.Command{{Name: "review", Description: "Reviews the code", Hint: "[file]", Aliases: []string{"r"}, Builtin: true}, {Name: "hi"}}
	if got := get[api.List[api.Command]](ada, path); !reflect.DeepEqual(got, api.List[api.Command]{Items: all}) {
		t.Errorf("%+v, want %+v", got, all)
	}
	if got := eve.do("GET", path, nil); got.status != http.StatusNotFound {
		t.Errorf("to one who does not see the conversation: %d %s", got.status, got.body)
	}
}
