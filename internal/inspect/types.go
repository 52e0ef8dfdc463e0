package inspect

import (
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// into is the decoder of a Go type.
func into[T any](doc []byte) ([]byte, error) {
	var v T
	failed := jsonx.Unmarshal(doc, &v)
	again, err := jsonx.Marshal(v)
	if err != nil {
		return nil, err
	}
	return again, failed
}

// message returns what the decoder of a message does not know.
func (k *known) message(f *Frame, m message.Message) []string {
	switch m.(type) {
	case *message.Unknown, *message.System:
		return nil // unknown as a whole
	}
	name := pathName(f.Type, f.Subtype)
	if f.Type == "result" {
		name = f.Type // one Go type for all of them
	}
	return k.unknown(name, f.Msg, decoder{strict: true, decode: func(doc []byte) ([]byte, error) {
		m, failed := message.DecodeAs(f.Type, f.Subtype, doc)
		if m == nil {
			return nil, failed
		}
		m.Head().Raw = nil
		again, err := jsonx.Marshal(m)
		if err != nil {
			return nil, err
		}
		return again, failed
	}})
}

// request returns what nobody knows of a request.
func (k *known) request(dir claudetest.Dir, r wire.Request) []string {
	name := "request " + r.Subtype
	doc := r.Body
	var d decoder
	switch {
	case dir == claudetest.DirIn && r.Subtype == "initialize":
		d.decode = into[control.Initialize]
	case dir == claudetest.DirIn:
		return nil // the SDK's own
	case r.Subtype == "can_use_tool":
		d.decode = into[permission.Request]
	case r.Subtype == "elicitation":
		d.decode = into[control.Elicitation]
	case r.Subtype == "request_user_dialog":
		d.decode = into[control.Dialog]
	case r.Subtype == "mcp_message":
		return nil // JSON-RPC is carried, not read
	case r.Subtype == "hook_callback":
		input := jsonx.Member(r.Body, "input")
		event := hook.Event(jsonx.Text(jsonx.Member(input, "hook_event_name")))
		if d = (decoder{hookInput(event), true}); d.decode == nil {
			return []string{pathName("hook", string(event))}
		}
		name, doc = "hook "+string(event), input
	default:
		return []string{name}
	}
	return without(k.unknown(name, doc, d), name+".subtype")
}

// reply returns what nobody knows of a reply of the CLI.
func (k *known) reply(x *Exchange, r wire.Response) []string {
	if x.From != claudetest.DirIn || len(r.Payload) == 0 {
		return nil
	}
	d := decoder{decode: replyTo(x.Subtype)}
	if d.decode == nil {
		return nil
	}
	return k.unknown("reply "+x.Subtype, r.Payload, d)
}

// replyTo returns the decoder of the replies to an operation.
func replyTo(subtype string) func([]byte) ([]byte, error) {
	switch subtype {
	case "initialize":
		return into[control.Info]
	case "interrupt":
		return into[control.Interrupted]
	case "rewind_files":
		return into[control.Rewind]
	case "get_context_usage":
		return into[control.ContextUsage]
	case "get_usage":
		return into[control.Usage]
	case "get_settings":
		return into[control.Settings]
	case "get_session_cost":
		return into[control.SessionCost]
	case "get_binary_version":
		return into[control.BinaryVersion]
	case "reload_plugins":
		return into[control.PluginReload]
	case "get_hooks_listing":
		return into[control.HooksListing]
	case "get_task_output":
		return into[control.TaskOutput]
	case "side_question":
		return into[control.SideAnswer]
	case "mcp_set_servers":
		return into[control.MCPSetResult]
	case "mcp_status":
		return into[struct {
			Servers []control.MCPServerStatus `json:"mcpServers"`
		}]
	}
	return nil
}

// hookInput returns the decoder for the input of an event, nil for an event that
// is not known.
func hookInput(event hook.Event) func([]byte) ([]byte, error) {
	return map[hook.Event]func([]byte) ([]byte, error){
		hook.EventPreToolUse:          into[hook.PreToolUseInput],
		hook.EventPostToolUse:         into[hook.PostToolUseInput],
		hook.EventPostToolUseFailure:  into[hook.PostToolUseFailureInput],
		hook.EventPostToolBatch:       into[hook.PostToolBatchInput],
		hook.EventPermissionRequest:   into[hook.PermissionRequestInput],
		hook.EventPermissionDenied:    into[hook.PermissionDeniedInput],
		hook.EventUserPromptSubmit:    into[hook.UserPromptSubmitInput],
		hook.EventUserPromptExpansion: into[hook.UserPromptExpansionInput],
		hook.EventMessageDisplay:      into[hook.MessageDisplayInput],
		hook.EventNotification:        into[hook.NotificationInput],
		hook.EventStop:                into[hook.StopInput],
		hook.EventStopFailure:         into[hook.StopFailureInput],
		hook.EventSubagentStart:       into[hook.SubagentStartInput],
		hook.EventSubagentStop:        into[hook.SubagentStopInput],
		hook.EventTeammateIdle:        into[hook.TeammateIdleInput],
		hook.EventTaskCreated:         into[hook.TaskInput],
		hook.EventTaskCompleted:       into[hook.TaskInput],
		hook.EventSetup:               into[hook.SetupInput],
		hook.EventSessionStart:        into[hook.SessionStartInput],
		hook.EventSessionEnd:          into[hook.SessionEndInput],
		hook.EventPreCompact:          into[hook.PreCompactInput],
		hook.EventPostCompact:         into[hook.PostCompactInput],
		hook.EventPreModelSwitch:      into[hook.ModelSwitchInput],
		hook.EventPostModelSwitch:     into[hook.ModelSwitchInput],
		hook.EventElicitation:         into[hook.ElicitationInput],
		hook.EventElicitationResult:   into[hook.ElicitationResultInput],
		hook.EventConfigChange:        into[hook.ConfigChangeInput],
		hook.EventInstructionsLoaded:  into[hook.InstructionsLoadedInput],
		hook.EventCwdChanged:          into[hook.CwdChangedInput],
		hook.EventFileChanged:         into[hook.FileChangedInput],
		hook.EventDirectoryAdded:      into[hook.DirectoryAddedInput],
		hook.EventWorktreeCreate:      into[hook.WorktreeCreateInput],
		hook.EventWorktreeRemove:      into[hook.WorktreeRemoveInput],
	}[event]
}

// without takes a name out of a list.
func without(names []string, name string) []string {
	for i, n := range names {
		if n == name {
			return append(names[:i:i], names[i+1:]...)
		}
	}
	return names
}
