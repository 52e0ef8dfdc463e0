package permission

import (
	"encoding/json"
	"reflect"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// UpdateType is the kind of change that an [Update] makes.
type UpdateType string

// The kinds of updates.
const (
	UpdateAddRules          UpdateType = "addRules"
	UpdateReplaceRules      UpdateType = "replaceRules"
	UpdateRemoveRules       UpdateType = "removeRules"
	UpdateSetMode           UpdateType = "setMode"
	UpdateAddDirectories    UpdateType = "addDirectories"
	UpdateRemoveDirectories UpdateType = "removeDirectories"
)

// Behavior is the effect of a rule or a decision on a tool call.
type Behavior string

// The behaviors. A rule can have any of them; a [Decision] only allows or
// denies.
const (
	BehaviorAllow Behavior = "allow"
	BehaviorDeny  Behavior = "deny"
	BehaviorAsk   Behavior = "ask"
)

// Destination is where an [Update] is kept.
type Destination string

// The destinations.
const (
	// ToSession keeps the update for the life of the session.
	ToSession Destination = "session"
	// ToLocalSettings writes it to the project's settings.local.json.
	ToLocalSettings Destination = "localSettings"
	// ToProjectSettings writes it to the project's shared settings.json.
	ToProjectSettings Destination = "projectSettings"
	// ToUserSettings writes it to the settings of the user.
	ToUserSettings Destination = "userSettings"
	// ToCLIArg treats it as if it had been given on the command line.
	ToCLIArg Destination = "cliArg"
)

// Rule names the tool calls that a permission rule covers: all calls of a
// tool, or those that fit RuleContent, for example "git status" or "go test *"
// for the tool Bash.
type Rule struct {
	ToolName    string `json:"toolName"`
	RuleContent string `json:"ruleContent,omitzero"`
}

// Update is one change of the permission state. Type determines which of the
// other fields count: Rules and Behavior, Mode, or Directories.
//
// An Update from the CLI keeps its JSON in Raw and encodes as exactly that,
// unless one of its fields was changed. A suggestion of a shape this package
// does not know has only Raw.
type Update struct {
	Type        UpdateType
	Rules       []Rule
	Behavior    Behavior
	Mode        Mode
	Directories []string
	Destination Destination
	Raw         json.RawMessage
}

// AllowRule allows the calls of a tool that fit content; an empty content
// means all of them.
func AllowRule(tool, content string, to Destination) Update {
	return addRule(BehaviorAllow, tool, content, to)
}

// DenyRule denies the calls of a tool that fit content; an empty content means
// all of them.
func DenyRule(tool, content string, to Destination) Update {
	return addRule(BehaviorDeny, tool, content, to)
}

func addRule(b Behavior, tool, content string, to Destination) Update {
	return Update{
		Type:        UpdateAddRules,
		Rules:       []Rule{{ToolName: tool, RuleContent: content}},
		Behavior:    b,
		Destination: to,
	}
}

// SetMode changes the permission mode.
func SetMode(m Mode, to Destination) Update {
	return Update{Type: UpdateSetMode, Mode: m, Destination: to}
}

// AddDirectories lets the tools work in more directories.
func AddDirectories(to Destination, dirs ...string) Update {
	return Update{Type: UpdateAddDirectories, Directories: dirs, Destination: to}
}

// To returns a copy of u that is kept at another destination, for example to
// apply a suggestion for a settings file to this session only.
func (u Update) To(d Destination) Update {
	u.Destination = d
	return u
}

// updateFields is the wire form of an update of any type.
type updateFields struct {
	Type        UpdateType  `json:"type"`
	Rules       []Rule      `json:"rules,omitzero"`
	Behavior    Behavior    `json:"behavior,omitzero"`
	Mode        Mode        `json:"mode,omitzero"`
	Directories []string    `json:"directories,omitzero"`
	Destination Destination `json:"destination,omitzero"`
}

// MarshalJSON encodes u in the CLI's form.
func (u Update) MarshalJSON() ([]byte, error) {
	f := u.fields()
	if len(u.Raw) > 0 && reflect.DeepEqual(f, fieldsOf(u.Raw)) {
		return u.Raw, nil
	}
	// The list belongs to its type: an empty one is sent as [].
	switch u.Type {
	case UpdateAddRules, UpdateReplaceRules, UpdateRemoveRules:
		if f.Rules == nil {
			f.Rules = []Rule{}
		}
	case UpdateAddDirectories, UpdateRemoveDirectories:
		if f.Directories == nil {
			f.Directories = []string{}
		}
	}
	return jsonx.Marshal(f)
}

// UnmarshalJSON decodes an update. It accepts every JSON value: older CLIs
// send strings and objects of other shapes as suggestions, which are kept only
// in Raw.
func (u *Update) UnmarshalJSON(data []byte) error {
	raw := append(json.RawMessage(nil), data...)
	f := fieldsOf(raw)
	*u = Update{
		Type:        f.Type,
		Rules:       f.Rules,
		Behavior:    f.Behavior,
		Mode:        f.Mode,
		Directories: f.Directories,
		Destination: f.Destination,
		Raw:         raw,
	}
	return nil
}

func (u Update) fields() updateFields {
	return updateFields{u.Type, u.Rules, u.Behavior, u.Mode, u.Directories, u.Destination}
}

// fieldsOf reads the fields of an update in raw. Without a type, no other
// member is known to have the meaning it has in an update.
func fieldsOf(raw json.RawMessage) updateFields {
	var f updateFields
	if err := jsonx.Unmarshal(raw, &f); err != nil && !jsonx.Mismatch(err) || f.Type == "" {
		return updateFields{}
	}
	return f
}
