package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A text can leave a name where a later command of the same text finds it again:
// as the name or the content of a file, in the settings of a program, in the
// arguments of a process. The name then looks as if it had been found, though it
// comes from the text itself.

// keeping records what a text leaves behind. It only grows.
type keeping struct {
	files    []string // last names of files that it makes
	contents []string // last names of files that it writes its own words into
	words    []string // texts that programs are told to keep
	programs []string // by these programs
	hidden   bool     // a file gets a name that the text assembles
	moves    bool     // the text changes the directory, whose name the shell keeps
}

func (k *keeping) size() int {
	n := len(k.files) + len(k.contents) + len(k.words) + len(k.programs)
	for _, is := range [...]bool{k.hidden, k.moves} {
		if is {
			n++
		}
	}
	return n
}

// keep adds texts to a list, except unknown ones.
func keep(list *[]string, texts ...string) {
	for _, text := range texts {
		if text != "" && static(text) && len(text) < maxOperand && len(*list) < maxValues && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
}

// makes records the name of a file that the text makes.
func (k *keeping) makes(path string, dark bool) {
	k.hidden = k.hidden || dark && !static(path)
	path = strings.TrimRight(path, "/")
	keep(&k.files, path[strings.LastIndexByte(path, '/')+1:])
}

// keepers are the commands by which programs that otherwise report what they find
// store a text they are given, and the files that they store it in.
var keepers = []struct {
	programs string
	command  *expression
	files    string
}{
	{" git ", lazily(`^(tag|branch|config|remote|checkout|switch|commit|notes|update-ref|symbolic-ref|stash|init|mv|worktree|replace|update-index|-b)$`), "config"},
	{" npm pnpm yarn ", lazily(`^(set|pkg|config|init)$`), "package.json .npmrc"},
	{" go ", lazily(`^-w$`), ""},
	{" systemctl ", lazily(`^(set-environment|set-property|edit)$`), ""},
	{" docker podman nerdctl kubectl oc gh helm terraform aws gcloud az pip pip3 poetry uv cargo rustup brew minikube pyenv rbenv hg svn ", lazily(`^(set|config|configure|tag|create|new|alias|rename|commit|set-[a-z-]+|label|annotate)$`), ""},
}

// fileMakers are the programs whose operands are names of files that they make.
const fileMakers = creators + makers + " mknod mktemp "

// keeps records what a command leaves behind. fed reports that it reads words of
// the text, dark that one of its words is assembled in unknown ways.
func (r wordReading) keeps(words []string, fed, dark bool) {
	if len(words) == 0 {
		return
	}
	k, name := r.kept, base(words[0])
	for _, p := range keepers {
		if listed(p.programs, name) && slices.ContainsFunc(words[1:], p.command.MatchString) {
			keep(&k.programs, name)
			keep(&k.contents, strings.Fields(p.files)...)
			for _, w := range operands(words) {
				_, value, _ := strings.Cut(w, "=")
				keep(&k.words, w, value)
			}
		}
	}
	switch {
	case listed(fileMakers, name) || name == "git" && slices.Contains(words, "init"):
		at := slices.Index(words, "--")
		for i, w := range words[1:] {
			if !strings.HasPrefix(w, "-") || at > 0 && i >= at {
				k.makes(w, dark)
				if fed {
					keep(&k.contents, base(w))
				}
			}
		}
	case listed(" sed gsed perl ", name) && slices.ContainsFunc(words, inPlace.MatchString) || listed(" awk gawk mawk nawk ", name):
		if echoes, _ := r.telling(words); echoes {
			for _, w := range words[1:] {
				for _, piece := range pieces(w) {
					keep(&k.contents, base(piece))
				}
			}
		}
	case listed(" cd pushd popd chdir ", name):
		k.moves = true
	}
	for i, w := range words[1:] {
		m := namedOutput.FindStringSubmatch(w)
		if m == nil || listed(compilers, name) {
			continue
		}
		if m[1] == "" && i+2 < len(words) {
			m[1] = words[i+2]
		}
		if k.makes(m[1], dark); fed {
			keep(&k.contents, base(m[1]))
		}
	}
}

// fitting adds to words with wildcards the names that the text has given to files,
// because the shell finds those.
func (k *keeping) fitting(words []string, work *int) []string {
	if k == nil || len(k.files) == 0 {
		return words
	}
	all := words
	for _, word := range words {
		slash := strings.LastIndexByte(word, '/') + 1
		dir, pattern := word[:slash], word[slash:]
		if !strings.ContainsRune(pattern, anyName) && !strings.ContainsRune(pattern, anyChar) || len(pattern) > maxOperand {
			continue
		}
		steps := wordSteps(pattern, false)
		for _, name := range k.files {
			if len(all) < maxValues && !slices.Contains(all, dir+name) && overlap(literal(name), steps, work) {
				all = append(all[:len(all):len(all)], dir+name)
			}
		}
	}
	return all
}

// named reports whether the directory may have a name that the text has given to it.
func (k *keeping) named() bool { return k != nil && k.moves && (len(k.files) > 0 || k.hidden) }

// returned returns the kept texts in the forms in which they may come back: those in
// which programs print the names of files.
func (k *keeping) returned() (list []string) {
	if k == nil {
		return nil
	}
	for _, name := range k.files {
		list = append(list, name, "./"+name, "~+/"+name)
	}
	for _, word := range k.words {
		list = append(list, word)
		if !strings.Contains(word, `"`) { // some programs print JSON, and their output may be kept again
			list = append(list, `"`+word+`"`)
		}
	}
	return list
}

// selectors are programs that filter their input and change nothing.
const selectors = " sort head tail uniq shuf grep egrep fgrep rg wc tee cat tac xargs read mapfile readarray : true "

// returns reports whether a part of the text prints what the text has kept:
// unchanged, or formed into something else. It charges its effort to work.
func (r wordReading) returns(node syntax.Node, work *int) (kept, formed bool) {
	if r.kept == nil {
		return false, false
	}
	syntax.Walk(node, func(node syntax.Node) bool {
		if formed && kept || !spend(work, 2) {
			return false
		}
		switch n := node.(type) {
		case *syntax.ParamExp:
			if n.Param != nil && r.kept.named() && listed(" PWD OLDPWD DIRSTACK ", n.Param.Value) {
				kept = true
			}
			formed = formed || n.Exp != nil || n.Repl != nil || n.Slice != nil
		case *syntax.Redirect:
			if n.Op == syntax.DplIn && r.fromItself {
				kept, formed = true, true
			} else if n.Op == syntax.RdrIn && r.holds(expander{}.text(n.Word)) {
				kept, formed = true, true
			}
		case *syntax.CallExpr:
			if len(n.Args) == 0 || !spend(work, costOfCall) {
				break
			}
			words := expander{}.words(n.Args)
			finds, content := r.finds(words, work)
			kept = kept || finds
			formed = formed || content || !finds && forms(words)
		}
		return true
	})
	return kept, kept && formed
}

// forms reports whether a command changes its input.
func forms(words []string) bool {
	name := base(words[0])
	if !listed(selectors, name) {
		return !processNumber.MatchString(strings.Join(words, " "))
	}
	return name != "xargs" && slices.ContainsFunc(words[1:], cutting.MatchString)
}

var (
	// cutting are the options by which a selector prints a part of a line.
	cutting = lazily(`^(-[a-zA-Z0-9]*[co]|--(only|bytes|replace))`)
	// processNumber prints the column in which ps has the numbers of processes.
	processNumber = lazily(`^awk (/[^/]*/ *)?\{ *print \$2;? *\}$`)
)

// holds reports whether a file may hold words of the text.
func (r wordReading) holds(path string) bool {
	if itself.MatchString(path) || r.fromItself && ownDescriptor.MatchString(path) {
		return true
	}
	return slices.Contains(r.kept.contents, base(path))
}

var (
	// itself are files in which the system shows the arguments and variables of
	// processes.
	itself = lazily(`^/+proc/.*(cmdline|environ|comm)$`)
	// ownDescriptor are names of files that a process has opened.
	ownDescriptor = lazily(`^/+(dev/(fd/|stdin)|proc/.*/fd/)`)
)

// listers are programs that print names without being given any.
const listers = " ls dir vdir du find fd fdfind tree rg ag ack "

// finds reports whether a command prints what the text has kept, and whether that
// is the content of a file.
func (r wordReading) finds(words []string, work *int) (finds, content bool) {
	name := base(words[0])
	switch {
	case slices.Contains(r.kept.programs, name):
		return true, false
	case name == "ps" || name == "pgrep" && slices.ContainsFunc(words, listsArguments.MatchString):
		return true, false
	case slices.ContainsFunc(words[1:], r.holds):
		return true, true
	case r.fromItself && len(operands(words)) < 2 && (listed(readers, name) || listed(" sed awk grep tr ", name)):
		return true, true
	case name == "pwd":
		return r.kept.named(), false
	case len(r.kept.files) == 0:
		return false, false
	}
	patterns := operands(words)
	if name == "find" {
		patterns = lookedFor(words)
	}
	if name == "git" {
		return slices.ContainsFunc(words, gitLists.MatchString), false
	}
	if len(patterns) == 0 {
		return listed(listers, name), false
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		p = strings.TrimRight(p, "/")
		p = p[strings.LastIndexByte(p, '/')+1:]
		if p == "." || p == ".." || whollyUnknown(p) {
			return listed(listers, name)
		}
		steps := wordSteps(p, false)
		return len(p) < maxOperand && slices.ContainsFunc(r.kept.files, func(f string) bool { return overlap(literal(f), steps, work) })
	}), false
}

var (
	listsArguments = lazily(`^(-[a-z]*[al]|--list)`)
	gitLists       = lazily(`^(ls-files|status|diff|clean)$`)
)
