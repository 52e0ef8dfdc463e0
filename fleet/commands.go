package fleet

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// A CLI announces its slash commands when it starts, and again when they change. They are
// kept, so that they can be shown while the conversation sleeps, and by a process that does
// not run it. They have a record of their own, because with the descriptions of skills they
// take tens of kilobytes, and the record of the conversation is read with every prompt. That
// one has only a digest, so that a CLI which announces the same commands causes no write.

// kindCommands is the kind of the records of slash commands, one for each conversation.
const kindCommands = "commands"

// Limits on the commands that are kept of a conversation. A project and its plugins name
// them, so there may be any number of any size.
const (
	maxCommands     = 500
	maxCommandsText = 128 << 10 // bytes, of all together
	maxCommandText  = 2 << 10   // bytes, of each text of a command
)

// keptCommands are the slash commands of a conversation.
type keptCommands struct {
	Commands []control.Command `json:"commands"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// boundCommands cuts commands down to the limits. A description that is too long is cut. A
// command whose name is too long is left out, because half a name is not its name. One that
// finds no room is left out.
func boundCommands(all []control.Command) []control.Command {
	kept, size := []control.Command{}, 0
	for _, c := range all {
		c.Description, c.ArgumentHint = cutText(c.Description, maxCommandText), cutText(c.ArgumentHint, maxCommandText)
		for i, alias := range c.Aliases {
			if len(alias) > maxCommandText {
				c.Aliases = c.Aliases[:i:i]
				break
			}
		}
		own := len(c.Name) + len(c.Description) + len(c.ArgumentHint) + len(strings.Join(c.Aliases, ""))
		if len(kept) < maxCommands && size+own <= maxCommandsText && c.Name != "" && len(c.Name) <= maxCommandText {
			kept, size = append(kept, c), size+own
		}
	}
	return kept
}

// cutText returns at most so many bytes of a text, and only whole characters.
func cutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// digestOf names a list of commands. No commands have none.
func digestOf(commands []control.Command) (string, error) {
	if len(commands) == 0 {
		return "", nil
	}
	text, err := jsonx.Marshal(commands)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:12]), nil
}

// commandsBound is how long it may take to keep commands. A turn does not need them.
const commandsBound = 10 * time.Second
