package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A name that a command finds may be that of any file, and people work with such
// names. A name that the text makes a command print could have been written out,
// so it hides something. The program decides which of the two it is: those below
// are known to print what they find, unless an argument makes them print a text.
// All others print their arguments.

// reporter is a program that prints what it finds. echoes reports whether its
// arguments make it print a text; nil: none do.
type reporter struct {
	programs string
	echoes   func(words []string) bool
}

var reporters = []reporter{
	{" pwd cat tac wc sort uniq shuf rev tr cut fold expand unexpand head tail nproc whoami id groups users hostname uname arch tty who w uptime free df lsblk lscpu lsof pgrep which whereis locate realpath readlink mktemp md5sum sha1sum sha224sum sha256sum sha384sum sha512sum shasum b2sum cksum sum zcat bzcat xzcat gunzip gzip od hexdump strings tsort cmp test [ : true false cd sleep kill wait exit return shift unset shopt break continue let read mapfile readarray getent getconf tput locale dig nslookup host ip ifconfig systemctl openssl ldd readelf nm size ", argument(`^--output-del`)},
	{" ls dir vdir du ", argument(`^--time-style`)},
	{" paste column join nl pr fmt numfmt comm diff ", argument(`^--|^-[a-zA-Z0-9]*[dosehtNL]`)},
	{" set ", func(words []string) bool { return len(words) == 1 }},
	{" grep egrep fgrep zgrep ", argument(`^--(label|group-sep)`)},
	{" rg ag ack ", argument(`^--(replace|passthru|output|context-sep|field)|^-[a-zA-Z]*r`)},
	{" find fd fdfind ", argument(`^-(printf|fprintf|exec|ok)|^--?(exec|format|batch)|^-[xX]$`)},
	{" stat ", formats(`^(?:-[a-zA-Z]*[cf]|--(?:format|printf)(?:=|$))(.*)$`)},
	{" ps ", argument(`=`)},
	{" date ", func(words []string) bool { return slices.ContainsFunc(words[1:], tellsDate) }},
	{" seq ", func(words []string) bool {
		return slices.ContainsFunc(words[1:], func(w string) bool { return !numeral.MatchString(w) && w != "-w" })
	}},
	{" expr ", func(words []string) bool {
		return slices.ContainsFunc(words[1:], func(w string) bool { return !operation.MatchString(w) })
	}},
	{" sed gsed ", sedTells},
	{" awk gawk mawk nawk ", awkTells},
	{" jq yq ", jqTells},
	{" curl wget http ", formats(`^(?:-[a-zA-Z]*w|--write-out(?:=|$))(.*)$`)},
	{" git ", gitTells},
	{" go ", formats(`^(?:--?(?:f|format)(?:=|$))(.*)$`)},
	{" docker podman nerdctl kubectl oc gh helm terraform aws gcloud az npm pnpm yarn brew cargo rustc rustup pip pip3 poetry uv pkg-config pyenv rbenv xcrun minikube golangci-lint staticcheck gofmt goimports javac mvn gradle dotnet ", formats(`^(?:-o|--(?:format|output|template)(?:=|$))(.*)$`)},
	{" basename dirname ", func(words []string) bool { return len(words) > 1 && static(words[1]) }},
}

// runsOther are the commands of such programs by which they start another one, and
// the options that take an expression with texts of its own.
var runsOther = lazily("(?s)^(run|exec|x|dlx|tool|ssh|debug)$|^(-q|--jq|--query)?=?.*[`'\"].*$")

var (
	numeral   = lazily(`^[-+0-9.]*$`)
	operation = lazily(`^([-+*/%()<>=!|&]+|[0-9]*|[` + string(anyChar) + `-` + string(anyCount) + `]+)$`)
)

// argument reports whether a word fits an expression.
func argument(expression string) func(words []string) bool {
	fits := lazily(expression)
	return func(words []string) bool { return slices.ContainsFunc(words[1:], fits.MatchString) }
}

// formats reports whether a format, which follows an option or is joined to it,
// holds more than placeholders for what is found.
func formats(option string) func(words []string) bool {
	fits := lazily(option)
	return func(words []string) bool {
		for i, w := range words[1:] {
			m := fits.FindStringSubmatch(w)
			switch {
			case m == nil && !listed(" go curl wget http stat ", base(words[0])) && runsOther.MatchString(w), w == "run" && base(words[0]) == "go":
				return true
			case m == nil:
			case m[1] != "":
				if tellsFormat(m[1]) {
					return true
				}
			case i+2 < len(words) && tellsFormat(words[i+2]):
				return true
			}
		}
		return false
	}
}

// tellsFormat reports whether a format has letters of its own.
func tellsFormat(format string) bool {
	if outputKind.MatchString(format) {
		return false
	}
	return hasText.MatchString(placeholder.compile().ReplaceAllString(format, ""))
}

var (
	// outputKind are named formats, and files that are written.
	outputKind = lazily(`^(json|yaml|text|table|wide|name|csv|tsv|plain|short|raw|id|/dev/null|[\w./-]+\.(json|txt|log|out|html|tgz|gz|zip))$`)
	// placeholder is a place for a found value, without a text of its own.
	placeholder = lazily(`%\{[a-z_]+\}|%[-0-9.]*[a-wyzA-BD-Z]|\{\{[ .A-Za-z0-9_-]*\}\}|\{[.\[\]*0-9A-Za-z_@]*\}|\\[nt]|^(jsonpath|go-template)=`)
	hasText     = lazily(`[A-Za-z0-9\\` + "`" + string(anyText) + string(anyWords) + `]`)
)

// tellsDate reports whether date prints more than numbers.
func tellsDate(word string) bool {
	return strings.HasPrefix(word, "+") && !dateNumbers.MatchString(word)
}

// dateNumbers are formats of date that give numbers, and the usual characters in
// between.
var dateNumbers = lazily(`^\+([-_:.TZ0-9 ]|%-?[FTYmdHMSsjNuwyVGgeIklRDCz])*$`)

// sedTells reports whether a script for sed inserts text of its own. Only the
// simplest scripts are known not to: one that prints lines, or one substitution.
func sedTells(words []string) bool {
	code, options := "", words[1:]
	for len(options) > 0 && strings.HasPrefix(options[0], "-") {
		if !sedOption.MatchString(options[0]) {
			return true
		}
		options = options[1:]
	}
	if len(options) > 0 {
		code = options[0]
	}
	if sedPrints.MatchString(code) {
		return false
	}
	m := sedSubstitution.FindStringSubmatch(code)
	if m == nil || slices.ContainsFunc(options, func(w string) bool { return strings.HasPrefix(w, "-") }) {
		return true
	}
	_, rest, ok := delimited(m[2], m[1][0])
	with, flags, closed := delimited(rest, m[1][0])
	return !ok || !closed || hasText.MatchString(sedPlace.compile().ReplaceAllString(with, "")) || strings.Trim(flags, "gpI") != ""
}

var (
	sedOption       = lazily(`^-[nErsz]+$`)
	sedPrints       = lazily(`^[0-9,$ ]*[pdq=]?$`)
	sedSubstitution = lazily(`(?s)^[0-9,$]*s([/|,#@:])(.*)$`)
	sedPlace        = lazily(`\\[0-9]|&`)
)

// awkTells reports whether a program for awk has texts of its own.
func awkTells(words []string) bool {
	for i, w := range words[1:] {
		if strings.HasPrefix(words[i], "-") && i > 0 && words[i] == "-F" || strings.HasPrefix(w, "-F") {
			continue
		}
		if strings.HasPrefix(w, "-") && w != "--" || strings.Contains(w, "BEGIN") && strings.Contains(w, "%c") {
			return true
		}
		for _, m := range awkString.compile().FindAllStringSubmatch(w, -1) {
			if hasText.MatchString(awkPlace.compile().ReplaceAllString(m[1], "")) {
				return true
			}
		}
		if !static(w) && strings.ContainsAny(w, `"{`) {
			return true
		}
	}
	return false
}

var (
	awkString = lazily(`"((?:[^"\\]|\\.)*)"`)
	awkPlace  = lazily(`%[-0-9.]*[sdif]|\\[nt]`)
)

// jqTells reports whether a program for jq has texts of its own.
func jqTells(words []string) bool {
	for _, w := range words[1:] {
		if jqOption.MatchString(w) || jqText.MatchString(jqPlace.compile().ReplaceAllString(w, "")) || !static(w) && strings.ContainsAny(w, `.|"`) {
			return true
		}
	}
	return false
}

var (
	jqOption = lazily(`^(-[a-zA-Z]*n|--(arg|raw|slurp-?file|args|null|from|indent|seq)|-f)`)
	jqPlace  = lazily(`\[ *"[^"]*" *\]|\."[^"]*"|[=!]= *"[^"]*"|(test|startswith|endswith|contains|has|index|match|select)\( *"[^"]*" *\)|(join|split)\( *"[^"\w\\]*" *\)|@(tsv|csv|json|text)`)
	jqText   = lazily(`["{@\\]|implode|input_filename|\$ENV|\benv\b`)
)

// gitTells reports whether git prints a text: by a format, or by a command that
// is not known to only list.
func gitTells(words []string) bool {
	at := 1
	for at < len(words) && strings.HasPrefix(words[at], "-") {
		if words[at] == "-C" {
			at++
		}
		at++
	}
	if at < len(words) && !listed(gitReports, words[at]) {
		return true
	}
	return slices.ContainsFunc(words[1:], func(w string) bool {
		m := gitFormat.FindStringSubmatch(w)
		return m != nil && !gitPlaces.MatchString(m[1])
	})
}

const gitReports = " rev-parse ls-files diff branch describe log show status merge-base rev-list symbolic-ref remote tag config diff-tree diff-index name-rev ls-remote stash ls-tree grep cat-file hash-object write-tree blame worktree submodule reflog show-ref count-objects "

var (
	gitFormat = lazily(`^(?:--(?:format|pretty)=?|--(?:sq-quote|date=format|src-prefix|dst-prefix|line-prefix|output-indicator|word-diff|batch).*|-c)(.*)$`)
	gitPlaces = lazily(`^(format:|tformat:)?(%[hHtTpPdDn]|%[ac][drtisI]|%\(refname(:short|:strip=\d)?\)|%\(objectname\)|[ :/,-])+$|^(oneline|short|medium|full|fuller|raw)$`)
)

// echoes reports whether a command prints its arguments. An unknown program
// does.
func (r wordReading) echoes(words []string) bool {
	echoes, known := r.telling(words)
	return echoes || !known
}

// telling reports whether a command prints what it is told, and whether that is
// known.
func (r wordReading) telling(words []string) (echoes, known bool) {
	for len(words) > 1 {
		if _, starts := starters[base(words[0])]; !starts {
			break
		}
		if words[0] == "command" && listed(" -v -V ", words[1]) {
			return false, true
		}
		next := slices.IndexFunc(words[1:], func(w string) bool { return !strings.HasPrefix(w, "-") && !numeral.MatchString(w) })
		if next < 0 {
			return true, true
		}
		words = words[next+1:]
	}
	name := base(words[0])
	if !static(words[0]) || slices.Contains(r.functions, words[0]) || listed(tellers, name) {
		return true, true
	}
	for _, p := range reporters {
		if listed(p.programs, name) {
			return p.echoes != nil && p.echoes(words), true
		}
	}
	// Without arguments there is no text to print, and a script in a directory
	// existed before, or is written here and then refused.
	there := strings.Contains(words[0], "/") && !strings.HasPrefix(words[0], "/bin/") && !strings.HasPrefix(words[0], "/usr/")
	return false, there || len(words) == 1 && !special(name)
}

// tellers are programs that print their arguments.
const tellers = " echo printf print yes env printenv jobs dirs times alias history base64 base32 xxd python python3 perl ruby node php tee "

// printsItself reports whether a part of the text prints words of the text. It
// charges its effort to work, and answers broadly when nothing is left.
func (r wordReading) printsItself(node syntax.Node, work *int) bool {
	_, formed := r.returns(node, work)
	return formed || r.prints(node, work, r.echoes)
}

// prints reports whether one of the commands in a part of the text echoes, or the
// text itself is read there.
func (r wordReading) prints(node syntax.Node, work *int, echoes func(words []string) bool) bool {
	found := false
	syntax.Walk(node, func(node syntax.Node) bool {
		if found || !spend(work, 2) {
			found = true
			return false
		}
		switch n := node.(type) {
		case *syntax.Redirect:
			found = n.Op == syntax.WordHdoc || n.Hdoc != nil
		case *syntax.DeclClause:
			found = len(n.Args) == 0 || slices.ContainsFunc(n.Args, func(a *syntax.Assign) bool {
				return a.Name == nil && a.Value != nil && strings.ContainsAny(a.Value.Lit(), "pfF")
			})
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				found = !spend(work, costOfCall/4) || echoes(expander{}.words(n.Args))
			}
		}
		return true
	})
	return found
}

// printed returns the value of a substitution whose form is known: a number or a
// date, one name without its directory, a new name for a temporary file.
func (r wordReading) printed(c *syntax.CmdSubst) (value string, ok bool) {
	if len(c.Stmts) != 1 || r.paths {
		return "", false
	}
	call, simple := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !simple || len(call.Args) == 0 || len(call.Assigns) > 0 || slices.Contains(r.functions, call.Args[0].Lit()) {
		return "", false
	}
	words := expander{}.words(call.Args)
	switch text := strings.Join(words, " "); {
	case numberCommand.MatchString(text), dateCommand.MatchString(text):
		return string(anyCount), true
	case len(c.Stmts[0].Redirs) > 0:
	case words[0] == "pwd":
		return "~+", true
	case temporary.MatchString(text) && !r.moved:
		return "/tmp/tmp." + string(anyName), true
	case words[0] == "basename" && len(words) == 2 && !strings.HasPrefix(words[1], "-") && whollyUnknown(words[1]):
		return string(anyText), true
	}
	return "", false
}

var (
	dateCommand = lazily(`^date( -u)? \+([0-9]|%-?[FTYmdHMSsjNuwyVGgeIklC])([-_:.TZ0-9]|%-?[FTYmdHMSsjNuwyVGgeIklC])*$`)
	temporary   = lazily(`^mktemp( -d)?$`)
)
