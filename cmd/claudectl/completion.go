package main

import (
	"cmp"
	_ "embed"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/permission"
)

// What shells need to ask this program for completions.
var (
	//go:embed shell/claudectl.bash
	bashCompletion string
	//go:embed shell/claudectl.zsh
	zshCompletion string
	//go:embed shell/claudectl.fish
	fishCompletion string
)

// completionCommand is "claudectl completion".
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Help is shown by "claudectl completion --help".
func (*completionCommand) Help() string {
	return `Load it where your shell starts:

	source <(claudectl completion bash)     # in ~/.bashrc
	source <(claudectl completion zsh)      # in ~/.zshrc, after compinit
	claudectl completion fish | source      # in ~/.config/fish/config.fish

Sessions are completed by their ids and by words of their titles.`
}

// Run prints the script for a shell.
func (r *completionCommand) Run(c *console) error {
	c.printf("%s", map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[r.Shell])
	return nil
}

// completeCommand is "claudectl complete", which those scripts call: it prints
// the candidates for the last word: a value and its description on each line.
type completeCommand struct {
	Shell string   `arg:""`
	Words []string `arg:"" optional:"" passthrough:""`
}

// allModes are the permission modes, for --mode.
var allModes = [...]permission.Mode{
	permission.ModeDefault, permission.ModeAcceptEdits, permission.ModePlan,
	permission.ModeDontAsk, permission.ModeAuto, permission.ModeBypassPermissions,
}

// filesWanted asks a shell to complete the names of files.
const filesWanted = ":files"

// Run prints the candidates. Errors are not shown: they would appear in the
// middle of the line that a person types.
func (r *completeCommand) Run(c *console) error {
	words := r.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	parser, err := newParser(new(commands), c)
	if err != nil {
		return err
	}
	for _, found := range newCompletion(c, parser.Model.Node, r.Shell == "bash").candidates(words) {
		text := found.value
		if found.about != "" {
			text += "\t" + terminal.Line(c.secrets.Hide(found.about))
		}
		c.printf("%s\n", text)
	}
	return nil
}

// candidate is a possible completion of a word.
type candidate struct{ value, about string }

// completion follows the words of a command line through the commands.
type completion struct {
	c     *console
	node  *kong.Node
	args  int               // positional arguments so far
	value *kong.Flag        // the flag that waits for its value
	given map[string]string // values of flags
	split bool              // the shell takes "=" for a word of its own, as bash does
}

func newCompletion(c *console, root *kong.Node, split bool) *completion {
	return &completion{c: c, node: root, given: make(map[string]string), split: split}
}

// candidates returns the values that fit the last word.
func (p *completion) candidates(words []string) []candidate {
	last := len(words) - 1
	for _, word := range words[:last] {
		p.take(word)
	}
	word := words[last]
	if p.split && word == "=" {
		word = ""
	}
	name, value, joined := strings.Cut(word, "=")
	switch flag := p.flag(name); {
	case p.value != nil:
		return p.values(p.value.Value, word, "")
	case joined && flag != nil:
		return p.values(flag.Value, value, name+"=")
	case strings.HasPrefix(word, "-"):
		return p.flags(word)
	case p.args == 0 && len(p.node.Children) > 0:
		return p.commands(word)
	case p.args < len(p.node.Positional):
		return p.values(p.node.Positional[p.args], word, "")
	}
	return nil
}

// take takes a word that is complete.
func (p *completion) take(word string) {
	switch {
	case p.split && word == "=":
		return // between a flag and its value
	case p.value != nil:
		p.given[p.value.Name] = word
		p.value = nil
		return
	case strings.HasPrefix(word, "-"):
		name, value, joined := strings.Cut(word, "=")
		if flag := p.flag(name); flag != nil && joined {
			p.given[flag.Name] = value
		} else if flag != nil && !flag.IsBool() && !flag.IsCounter() {
			p.value = flag
		}
		return
	}
	for _, child := range p.node.Children {
		if child.Name == word && p.args == 0 {
			p.node = child
			return
		}
	}
	p.args++
}

// all returns the flags that can be given here: those of the command, of the ones
// around it, and of the one that is meant when none is named.
func (p *completion) all() []*kong.Flag {
	var flags []*kong.Flag
	if p.node.DefaultCmd != nil {
		flags = append(flags, p.node.DefaultCmd.Flags...)
	}
	for node := p.node; node != nil; node = node.Parent {
		flags = append(flags, node.Flags...)
	}
	return flags
}

// flag returns the flag of that name, nil if there is none.
func (p *completion) flag(word string) *kong.Flag {
	for _, flag := range p.all() {
		if word == "--"+flag.Name || flag.Short != 0 && word == "-"+string(flag.Short) {
			return flag
		}
	}
	return nil
}

func (p *completion) flags(word string) []candidate {
	var found []candidate
	for _, flag := range p.all() {
		if name := "--" + flag.Name; !flag.Hidden && strings.HasPrefix(name, word) {
			found = append(found, candidate{name, flag.Help})
		}
	}
	return found
}

func (p *completion) commands(word string) []candidate {
	var found []candidate
	for _, child := range p.node.Children {
		if !child.Hidden && strings.HasPrefix(child.Name, word) {
			found = append(found, candidate{child.Name, child.Help})
		}
	}
	return found
}

// values returns the values of a flag or an argument. The tag "complete" names
// their source.
func (p *completion) values(value *kong.Value, word, before string) []candidate {
	var all []candidate
	switch value.Tag.Get("complete") {
	case "file", "dir":
		return []candidate{{filesWanted, ""}}
	case "mode":
		for _, mode := range allModes {
			all = append(all, candidate{string(mode), modes[mode]})
		}
	case "session":
		return p.sessions(history.Query{Archived: history.ArchivedIncluded}, word, before)
	case "store-session":
		found := p.stored(word, before)
		if len(found) == 0 {
			return []candidate{{filesWanted, ""}} // a journal
		}
		return found
	case "session-here":
		if p.given["store"] != "" {
			return p.stored(word, before)
		}
		dir, err := os.Getwd()
		if err != nil {
			return nil
		}
		return p.sessions(history.Query{Dir: dir}, word, before)
	default:
		for _, choice := range value.EnumSlice() {
			all = append(all, candidate{choice, ""})
		}
	}
	var found []candidate
	for _, one := range all {
		if one.value != "" && strings.HasPrefix(one.value, word) {
			found = append(found, candidate{before + one.value, one.about})
		}
	}
	return found
}

// completedSessions is how many sessions are offered.
const completedSessions = 30

// sessions returns the newest sessions whose id begins with the word, or whose
// title has it.
func (p *completion) sessions(q history.Query, word, before string) []candidate {
	h, err := p.c.history()
	if err != nil {
		return nil
	}
	return p.sessionsOf(h, q, word, before)
}

// stored is sessions for those in the store that a flag has named.
func (p *completion) stored(word, before string) []candidate {
	place := storePlace{p.given["store"], cmp.Or(p.given["project"], defaultProject)}
	if place.Store == "" || place.there() != nil {
		return nil
	}
	return p.sessionsOf(place.history(), history.Query{}, word, before)
}

func (p *completion) sessionsOf(h *history.History, q history.Query, word, before string) []candidate {
	var found []candidate
	word = strings.ToLower(word)
	for info, err := range h.List(p.c.ctx, q) {
		if err != nil || len(found) == completedSessions {
			break
		}
		if strings.HasPrefix(info.ID, word) || strings.Contains(strings.ToLower(info.Title), word) {
			found = append(found, candidate{before + info.ID, clip(info.Title, titleWidth)})
		}
	}
	return found
}
