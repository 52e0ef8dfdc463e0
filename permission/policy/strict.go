package policy

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/permission"
	"mvdan.cc/sh/v3/syntax"
)

// plainCommand is a command that leaves nothing for the shell to expand.
type plainCommand struct {
	text  string // as written, without redirections
	words []string
}

// maxLooks bounds how many paths of a command are looked up before it is not
// allowed.
const maxLooks = 512

// allowsScript reports whether every command of a text fits a rule, and nothing
// in it is more than it seems.
func (r *Rules) allowsScript(req *permission.Request, text string) bool {
	looks := maxLooks
	bounded := *r
	bounded.looks = &looks
	r = &bounded
	commands, ok := plainCommands(text)
	if !ok || len(commands) == 0 {
		return false
	}
	if b := req.BlockedPath; b != "" && (!filepath.IsAbs(b) || r.outside(b)) {
		return false
	}
	for _, c := range commands {
		fits := slices.ContainsFunc(r.rules, func(rule rule) bool { return rule.ToolName == "Bash" && rule.fitsText(c.text) })
		if !fits || r.unforeseen(req, c, len(commands) > 1) {
			return false
		}
	}
	return readScript(text).unread == ""
}

// plainCommands reads a text that consists of plain commands, joined by
// operators that run one after the other. Any other text is not ok.
func plainCommands(text string) (commands []plainCommand, ok bool) {
	defer func() {
		if recover() != nil { // the parser panicked
			commands, ok = nil, false
		}
	}()
	if len(text) > maxScript || strings.ContainsFunc(text, strange) || tooDeep(text) || continuesComment(text) {
		return nil, false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil || len(file.Last) > 0 {
		return nil, false
	}
	for _, stmt := range file.Stmts {
		if commands, ok = plainStatement(text, stmt, commands); !ok {
			return nil, false
		}
	}
	return commands, true
}

func plainStatement(text string, stmt *syntax.Stmt, commands []plainCommand) ([]plainCommand, bool) {
	if stmt.Negated || stmt.Background || stmt.Coprocess || stmt.Disown || len(stmt.Comments) > 0 {
		return nil, false
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.PipeAll || len(stmt.Redirs) > 0 {
			return nil, false
		}
		commands, ok := plainStatement(text, cmd.X, commands)
		if !ok {
			return nil, false
		}
		return plainStatement(text, cmd.Y, commands)
	case *syntax.CallExpr:
		if len(cmd.Assigns) > 0 || len(cmd.Args) == 0 {
			return nil, false
		}
		c := plainCommand{text: text[cmd.Pos().Offset():cmd.End().Offset()]}
		for _, w := range cmd.Args {
			word, ok := plainWord(w)
			if !ok {
				return nil, false
			}
			c.words = append(c.words, word)
		}
		for _, redir := range stmt.Redirs {
			if !redir.Pos().After(cmd.End()) || !quiet(redir) {
				return nil, false
			}
		}
		return append(commands, c), true
	}
	return nil, false
}

// plainWord returns the text of a word in which nothing is expanded.
func plainWord(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "$`\\(){}<>*?[#!") {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar || strings.Contains(p.Value, "\n") {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar || len(p.Parts) > 1 {
				return "", false
			}
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok || strings.ContainsAny(lit.Value, "$`\\\n") {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// quiet reports whether a redirection leads nowhere.
func quiet(r *syntax.Redirect) bool {
	if r.N != nil && r.N.Value != "1" && r.N.Value != "2" || r.Word == nil {
		return false
	}
	to := r.Word.Lit()
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		return to == "/dev/null"
	case syntax.DplOut:
		return to == "1" || to == "2"
	}
	return false
}

// strange reports whether a character may be a blank to one program and a
// letter to another.
func strange(c rune) bool {
	return c != ' ' && c != '\t' && c != '\n' && (unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == utf8.RuneError || isUnknown(c))
}

// unforeseen reports whether the CLI would ask about a command although its
// rules for commands allow it: a command that names files outside the project
// or files that decide what other programs run, that changes the directory for
// the next command, or that runs its arguments.
func (r *Rules) unforeseen(req *permission.Request, c plainCommand, several bool) bool {
	name := base(c.words[0])
	switch name {
	case "cd", "pushd", "popd":
		if several || len(c.words) != 2 {
			return true
		}
	case "printf":
		if len(c.words) > 1 && strings.HasPrefix(c.words[1], "-") || slices.ContainsFunc(c.words, evaluates) {
			return true
		}
	case "test":
		// Some of these tests evaluate their operand.
		if len(c.words) != 3 || !fileTest.MatchString(c.words[1]) {
			return true
		}
	case "coproc":
		return true
	case "sed", "gsed", "perl":
		// A file that is edited in place may run a moment later.
		if several && slices.ContainsFunc(c.words[1:], inPlace.MatchString) {
			return true
		}
	default:
		if _, starts := starters[name]; starts || listed(evaluators, name) || listed(otherShells, name) {
			return true
		}
		if listed(shells, name) && (len(c.words) < 2 || slices.ContainsFunc(c.words[1:], func(w string) bool { return w != "" && (w[0] == '-' || w[0] == '+') })) {
			return true
		}
	}
	for _, run := range running {
		if listed(run.programs, name) && slices.ContainsFunc(c.words[1:], run.argument.MatchString) {
			return true
		}
	}
	if follows(name, c.words[1:]) {
		return true
	}
	for i, word := range c.words[1:] {
		// Quoted text would be expanded if the quotes were lost.
		expands := listed(pathPrograms, name) && strings.ContainsAny(word, "$`") || listed(writers, name) && listed(pathPrograms, name) && strings.ContainsAny(word, "*?[]{}") ||
			name == "find" && strings.ContainsAny(word, "*?[]") && !findPattern.MatchString(c.words[i])
		if expands || word == "" && listed(pathPrograms, name) || actions[name] != nil && actions[name].MatchString(word) {
			return true
		}
		if r.leads(req, name, word) || bundles(name) && r.leads(req, name, "-"+word) {
			return true
		}
	}
	return false
}

var (
	inPlace     = lazily(`^(-[A-Za-z0-9]*i|--in-place)`)
	fileTest    = lazily(`^-[bcdefghknprsuwxzLSON]$`)
	findPattern = lazily(`^-(i?name|i?path|i?wholename|i?regex|i?lname)$`)
)

// pathPrograms are the programs whose arguments the CLI takes for paths.
const pathPrograms = " cd ls find mkdir touch rm rmdir mv cp ln cat head tail sort uniq wc cut paste column file stat diff cmp strings hexdump od xxd base64 nl tee chmod chown truncate dd md5sum sha1sum sha256sum readlink realpath du "

// actions are the options by which programs do more than their names suggest.
var actions = map[string]*expression{
	"find": lazily(`^-(delete|fprint|fls)`),
	"jq":   lazily(`^-[a-zA-Z]*[fL]|^--(from|raw|slurp|arg|lib)`),
	"awk":  lazily(`^-[^Fv]|[(|>]`),
	"cd":   lazily(`^-`),
	"cp":   lazily(`^-`),
	"mv":   lazily(`^-`),
}

// following are the options by which a program walks directories and follows
// the links in them, which may lead out of the project.
var following = []struct {
	programs string
	argument *expression
}{
	{" grep egrep fgrep zgrep ", lazily(`^(-[a-zA-Z0-9]*R|--de)`)},
	{" rg fd ", lazily(`^(-[a-zA-Z0-9]*L|--fo)`)},
	{" ag ", lazily(`^(-[a-zA-Z0-9]*f|--fo)`)},
	{" ack ", lazily(`^--fo`)},
	{" find ", lazily(`^-(L|follow)$`)},
	{" ls dir vdir ", lazily(`^(-[a-zA-Z0-9]*[LH]|--de)`)},
	{" du chown chgrp chmod ", lazily(`^(-[a-zA-Z0-9]*[LHD]|--de)`)},
	{" tree ", lazily(`^-[a-zA-Z]*l`)},
	{" diff ", lazily(`^(-[a-zA-Z0-9]*r|--rec)`)},
	{" zip ", lazily(`^(-[a-zA-Z0-9]*[rR]|--rec)`)},
	{" tar bsdtar ", lazily(`^(-?[a-zA-Z]*[hHL][a-zA-Z]*$|--(de|hard-d))`)},
	{" rsync ", lazily(`^(-[a-zA-Z0-9]*[Lk]|--copy|--unsafe)`)},
	{" scp ", lazily(`^-[a-zA-Z0-9]*r`)},
	{" cpio ", lazily(`^(-[a-zA-Z0-9]*L|--de)`)},
	{" 7z ", lazily(`.`)},
}

// follows reports whether a program follows the links in a directory.
func follows(name string, args []string) bool {
	for _, f := range following {
		if listed(f.programs, name) && slices.ContainsFunc(args, f.argument.MatchString) {
			return true
		}
	}
	return false
}

// bundles reports whether a program takes options without a dash.
func bundles(name string) bool { return name == "tar" || name == "bsdtar" || name == "ar" }

// leads reports whether a word may lead a command out of the project.
func (r *Rules) leads(req *permission.Request, name, word string) bool {
	if strings.HasPrefix(word, "=") { // the path of a program, for zsh
		return true
	}
	for _, p := range meanings(word, true) {
		if strings.HasPrefix(p, "~") || slices.Contains(strings.Split(filepath.ToSlash(p), "/"), "..") {
			return true
		}
		abs := filepath.Join(r.dir(req), p)
		if filepath.IsAbs(p) {
			abs = filepath.Clean(p)
		}
		if r.outside(abs) || listed(writers, name) && name != "git" && disguised(p) {
			return true
		}
		if name == "rm" || name == "rmdir" {
			if _, above := within(abs, r.dir(req)); above {
				return true
			}
		}
	}
	return false
}

// outside reports whether a path is not in the project, even by its links, or
// is protected there.
func (r *Rules) outside(abs string) bool {
	if r.looks != nil {
		if *r.looks--; *r.looks < 0 {
			return true
		}
	}
	real, err := resolve(abs)
	if err != nil {
		// Such a name cannot be a file; it is text, and counts as written.
		real = abs
	}
	root, err := resolve(r.root)
	if err != nil {
		return true
	}
	_, inside := within(r.root, abs)
	_, led := within(root, real)
	if _, direct := within(root, abs); direct {
		inside = true
	}
	return !inside || !led || r.protects(abs) || r.protects(real)
}

// protects reports whether a file is protected. The place of the project itself
// does not matter.
func (r *Rules) protects(abs string) bool {
	if rel, ok := within(r.root, abs); ok {
		return protected(rel)
	}
	if root, err := resolve(r.root); err == nil {
		if rel, ok := within(root, abs); ok {
			return protected(rel)
		}
	}
	return protected(abs)
}

// dir returns the directory that commands run in, as far as it is known.
func (r *Rules) dir(req *permission.Request) string {
	if filepath.IsAbs(req.Cwd) {
		return req.Cwd
	}
	return r.root
}
