package approval

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/recordform"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
	"github.com/claude-agent-go/claude/store"
)

// AlwaysRule is a rule of a conversation: a decision that a person took once for
// all similar calls.
type AlwaysRule struct {
	// Rule is the rule in the syntax of the CLI, for example "Bash(go test:*)".
	Rule string `json:"rule"`
	// Behavior is the decision about calls that fit: allow or deny.
	Behavior permission.Behavior `json:"behavior"`
	// By, At and Question record who decided so, when, and about which
	// question.
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	Question string    `json:"question"`
}

// rulesKind is the kind of the records that hold the rules of a conversation.
const rulesKind = "rules"

// maxRules is how many rules a conversation may have.
const maxRules = 1000

// ruleBook is the record of a conversation's rules.
type ruleBook struct {
	Conversation string       `json:"conversation"`
	Rules        []AlwaysRule `json:"rules"`
	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

func (qs *Questions) rulesKey(conversation string) store.RecordKey {
	return store.RecordKey{Project: qs.project, Kind: rulesKind, Name: idOf(conversation, "")}
}

// Rules returns the rules of a conversation, in the order in which they were
// made.
func (qs *Questions) Rules(ctx context.Context, conversation string) ([]AlwaysRule, error) {
	book, _, err := qs.rules(ctx, conversation)
	return book.Rules, err
}

func (qs *Questions) rules(ctx context.Context, conversation string) (ruleBook, int64, error) {
	book := ruleBook{Conversation: conversation}
	r, err := store.Get(ctx, qs.records, qs.rulesKey(conversation))
	if errors.Is(err, store.ErrNotFound) {
		return book, 0, nil
	}
	if err == nil {
		err = recordform.Decode(r, &book)
	}
	if err != nil {
		return ruleBook{}, 0, fmt.Errorf("claude: approval: rules of %q: %w", conversation, err)
	}
	return book, r.Revision, nil
}

// Revoke removes rules of a conversation; without arguments, all of them.
// Unknown rules are ignored.
func (qs *Questions) Revoke(ctx context.Context, conversation string, rules ...string) error {
	return qs.changeRules(ctx, conversation, store.Fence{}, func(book *ruleBook) bool {
		before := len(book.Rules)
		book.Rules = slices.DeleteFunc(book.Rules, func(r AlwaysRule) bool {
			return len(rules) == 0 || slices.Contains(rules, r.Rule)
		})
		return len(book.Rules) != before
	})
}

// learn adds the rules of a decision. It runs before the call learns the
// decision: a crash in between repeats both.
func (qs *Questions) learn(ctx context.Context, q *Question, f store.Fence) error {
	full := false
	err := qs.changeRules(ctx, q.Conversation, f, func(book *ruleBook) bool {
		changed := false
		for _, text := range q.Answer.Always {
			r := AlwaysRule{text, q.Answer.Decision.Behavior(), q.Answer.By, q.Answer.At, q.ID}
			if slices.ContainsFunc(book.Rules, func(b AlwaysRule) bool { return b.Rule == r.Rule && b.Behavior == r.Behavior }) {
				continue
			}
			if full = len(book.Rules) >= maxRules; full {
				break
			}
			book.Rules, changed = append(book.Rules, r), true
		}
		return changed
	})
	if err == nil && full {
		err = fmt.Errorf("claude: approval: rules of %q: %w: there are %d already", q.Conversation, ErrInvalid, maxRules)
	}
	return err
}

// changeRules changes the rules of a conversation, by compare-and-set.
func (qs *Questions) changeRules(ctx context.Context, conversation string, f store.Fence, step func(*ruleBook) (changed bool)) error {
	for {
		book, revision, err := qs.rules(ctx, conversation)
		if err != nil || !step(&book) {
			return err
		}
		value, err := recordform.Encode(&book)
		if err == nil {
			_, err = store.Put(ctx, qs.records, qs.rulesKey(conversation), value, revision, f)
		}
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("claude: approval: rules of %q: %w", conversation, err)
		}
		qs.announce()
		return nil
	}
}

// ruled returns the answer that a rule of the conversation gives to a question,
// nil if no rule does. A rule that denies wins.
func (qs *Questions) ruled(ctx context.Context, q *Question) (*Answer, error) {
	book, _, err := qs.rules(ctx, q.Conversation)
	if err != nil {
		return nil, err
	}
	var found *Answer
	for _, r := range book.Rules {
		d, err := r.apply(ctx, q)
		if err != nil {
			return nil, err
		}
		denies := d.Behavior() == permission.BehaviorDeny
		if d.Behavior() != "" && (found == nil || denies) {
			found = &Answer{Decision: d, By: r.By, Digest: Digest(q.Input), Rule: r.Rule}
		}
		if denies {
			break
		}
	}
	return found, nil
}

// apply decides about a call, or passes.
func (r *AlwaysRule) apply(ctx context.Context, q *Question) (permission.Decision, error) {
	rules, err := policy.ParseRules(r.Rule)
	if err != nil {
		return permission.Decision{}, fmt.Errorf("claude: approval: rules of %q: %w: %w", q.Conversation, store.ErrDamaged, err)
	}
	if q.Cwd != "" {
		rules = rules.At(q.Cwd)
	}
	if r.Behavior == permission.BehaviorAllow {
		return rules.Allow()(ctx, q.Request())
	}
	return rules.Deny(fmt.Sprintf("%s does not allow calls like this one in this conversation.", r.By))(ctx, q.Request())
}

// checkRule checks a rule that a decision carries. One that allows must be
// narrow: a person who was shown one call has not seen what else a broad rule
// would let through.
func checkRule(text string, b permission.Behavior) error {
	if _, err := policy.ParseRules(text); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if r, err := permission.ParseRule(text); err != nil || b == permission.BehaviorAllow && broad(r) {
		return fmt.Errorf("%w: the rule %q would allow too much; say which calls", ErrInvalid, text)
	}
	return nil
}

// broad reports whether a rule covers everything that a powerful tool can do,
// or several tools.
func broad(r permission.Rule) bool {
	if r.RuleContent != "" {
		return strings.Trim(strings.TrimPrefix(r.RuleContent, "domain:"), "*/:.~ ") == ""
	}
	if strings.HasPrefix(r.ToolName, "mcp__") {
		_, tool, whole := strings.Cut(strings.TrimPrefix(r.ToolName, "mcp__"), "__")
		return !whole || tool == "" || strings.Contains(r.ToolName, "*")
	}
	return strings.Contains(r.ToolName, "*") || slices.Contains(alwaysAsked, r.ToolName)
}

// alwaysAsked are the tools too powerful to be allowed without a look at the
// input, and those that are themselves a question.
var alwaysAsked = []string{
	"Bash", "PowerShell", "Monitor", "Edit", "MultiEdit", "Write", "NotebookEdit", "Read", "WebFetch", "Agent", "Task",
	planTool, "AskUserQuestion",
}

// suggest returns the narrowest rules under which the call need not be asked
// about again: candidates that are narrow and really fit it.
func (q *Question) suggest(ctx context.Context, offered []permission.Update) []string {
	candidates := []permission.Rule{{ToolName: q.Tool}}
	var in struct {
		Command  string `json:"command"`
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
		URL      string `json:"url"`
	}
	if q.Request().DecodeInput(&in) == nil {
		if !strings.Contains(in.Command, "*") { // it would be a pattern
			candidates = append(candidates, permission.Rule{ToolName: q.Tool, RuleContent: in.Command})
		}
		for _, path := range []string{in.File, in.Notebook} {
			if filepath.IsAbs(path) && !strings.ContainsAny(path, `*?[]!\`) { // nor may this be one
				for _, tool := range []string{"Edit", "Read"} {
					candidates = append(candidates, permission.Rule{ToolName: tool, RuleContent: "/" + filepath.ToSlash(path)})
				}
			}
		}
		if u, err := url.Parse(in.URL); err == nil && u.Hostname() != "" {
			candidates = append(candidates, permission.Rule{ToolName: q.Tool, RuleContent: "domain:" + u.Hostname()})
		}
	}
	for _, u := range offered {
		if u.Type == permission.UpdateAddRules && u.Behavior == permission.BehaviorAllow {
			candidates = append(candidates, u.Rules...)
		}
	}
	var out []string
	for _, c := range candidates {
		r := AlwaysRule{Rule: c.String(), Behavior: permission.BehaviorAllow}
		if slices.Contains(out, r.Rule) || checkRule(r.Rule, r.Behavior) != nil {
			continue
		}
		if d, err := r.apply(ctx, q); err == nil && d.Behavior() == permission.BehaviorAllow {
			out = append(out, r.Rule)
		}
	}
	return out
}
