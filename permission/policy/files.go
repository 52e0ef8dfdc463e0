package policy

import (
	"slices"
	"strings"
)

// name records the words of a command that may name files, and the directories
// that it enters. A pipe hands it the names in lists.
func (f *findings) name(words, lists []string) {
	if len(words) == 0 {
		return
	}
	program, at := programOf(words)
	writes := slices.ContainsFunc(words, func(w string) bool { return listed(writers, base(w)) }) ||
		program == "find" && slices.ContainsFunc(words, findWrites.MatchString)
	opens := listed(readers, program) || listed(changers, program)
	decoding := decodingOf(program, words)
	for i, word := range words {
		if i > 0 || strings.Contains(word, "/") {
			if word = local(program, word); word == "" {
				continue
			}
			output := i > 0 && (outputOption.MatchString(words[i-1]) || outputOption.MatchString(word))
			operand := i > at && !strings.HasPrefix(word, "-")
			built := listed(compilers, program) && strings.IndexFunc(word, isUnknown) > 0 // its name is new, and has the beginning in the text
			file := shellFile{word, writes || output, opens && operand || output && !built, listed(creators, program)}
			f.files = append(f.files, file)
			for _, name := range decoding.names(i) {
				file.name = name
				f.files = append(f.files, file)
			}
			if _, value, ok := strings.Cut(word, "="); ok && (output || program == "dd") {
				f.files = append(f.files, shellFile{name: value, writes: writes || output, opens: true})
			}
			if at := strings.IndexFunc(word, isSpreadOrText); at == 0 || at > 0 && word[0] == '-' {
				f.blind = f.blind || writes
				if output {
					f.files = append(f.files, shellFile{name: word[at:], writes: true, opens: true})
				}
			}
		}
		if m := directoryOption.FindStringSubmatch(word); m != nil && m[1] != "" {
			f.enter(m[1])
		} else if m != nil && i+1 < len(words) {
			f.enter(words[i+1])
		}
	}
	if slices.ContainsFunc(words, func(w string) bool { return listOption(program).MatchString(w) }) {
		f.files = append(f.files, shellFile{name: string(anyText), writes: writes, opens: true})
	}
	f.search(words, lists)
	switch base(words[0]) {
	case "cd", "pushd", "builtin", "command":
		for _, word := range words[1:] {
			f.enter(word)
		}
		if len(words) == 1 {
			f.enter("~")
		}
	case "popd":
		f.enter(string(anyText))
	case "ln", "cp", "link", "mv", "rsync":
		f.link(words)
	}
}

// local returns the local file that a word names. For an address that is the last
// name, which a program may give to the file it fetches; only for programs that never
// take an address for a path. For a file on another machine, which may be this one,
// it is the part after the host.
func local(program, word string) string {
	switch {
	case listed(" scp rsync sftp ", program) && elsewhere.MatchString(word):
		return word[len(elsewhere.compile().FindString(word)):]
	case listed(" wget curl http aws gsutil ", program) && address.MatchString(word):
		name := word[strings.LastIndexByte(word, '/')+1:]
		if whollyUnknown(name) {
			return ""
		}
		return strings.NewReplacer(string(anyText), string(anyName), string(anyWords), string(anyName)).Replace(name)
	}
	return word
}

var (
	address   = lazily(`^(https?|ftps?|s3|gs|ssh|git|oci)://`)
	elsewhere = lazily(`^[\w.@` + string(anyText) + `-]+:`)
)

// programOf returns the program that a command comes down to, and its position:
// the one that a starter starts, if its operands are files.
func programOf(words []string) (name string, at int) {
	name = base(words[0])
	if _, starts := starters[name]; !starts {
		return name, 0
	}
	for i, word := range words[1:] {
		if inner := base(word); listed(readers, inner) || listed(changers, inner) {
			return inner, i + 1
		}
	}
	return name, 0
}

func isSpreadOrText(r rune) bool { return r == anyText || r == anyWords }

var (
	// outputOption is an option that a file to write follows, or is joined to.
	outputOption = lazily(`^(-[a-zA-Z]*o|-O|--?out|--ou?(=|$)|-fprint(0|f)?$|-fls$)`)
	// directoryOption is an option that a directory follows, or is joined to.
	directoryOption = lazily(`(?s)^(?:-C|--(?:` + abbreviated("directory", 3) + `|` + abbreviated("chdir", 2) + `|cwd|prefix|work-tree)(?:=|$))(.*)$`)
	// findWrites are the actions of find that change files.
	findWrites = lazily(`^-(delete|fprint|fls)`)

	namesInFile = lazily(`^--files0?-f`)
	namesForSum = lazily(`^--` + abbreviated("files0-from", 1) + `(=|$)`)
	namesForTar = lazily(`^(-T|--` + abbreviated("files-from", 2) + `(=|$)|-[a-zA-Z]*T$)`)
	namesForGit = lazily(`^--` + abbreviated("pathspec-from-file", 9) + `(=|$)`)
	always      = lazily(``)
)

// listOption finds the arguments by which a program reads names of files from
// its input.
func listOption(program string) *expression {
	switch program {
	case "tar", "bsdtar":
		return namesForTar
	case "wc", "du", "sort":
		return namesForSum
	case "rsync":
		return namesForTar
	case "cpio":
		return always
	case "git":
		return namesForGit
	}
	return namesInFile
}

// enter records a directory that commands may run in.
func (f *findings) enter(dir string) {
	if dir == "-" {
		dir = string(anyText)
	}
	if len(f.dirs) < maxValues {
		f.dirs = append(f.dirs, dir)
	}
}

// mention records a value that may be the name of a file.
func (f *findings) mention(value string, writes bool) {
	if static(value) {
		f.files = append(f.files, shellFile{name: value, writes: writes})
	}
}

// writes records the files that a command makes. An unknown program may make
// every file it names.
func (f *findings) writes(name string, words []string, open bool) {
	known := isPlain(name) || special(name) || name == "gdb" || loader.MatchString(name)
	f.output(name, words)
	switch {
	case listed(" gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd uncompress ", name):
		for _, word := range words[1:] {
			f.make(unpacked.compile().ReplaceAllString(word, ""))
		}
		return
	case listed(makers, name), open && !known && !strings.HasPrefix(words[0], "./"):
	case name == "find" && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-fprint") || strings.HasPrefix(w, "-fls") }):
	case listed(" tar bsdtar cpio rename ", name) && slices.ContainsFunc(words, renamed.MatchString):
		f.pieces = true
		return
	default:
		return
	}
	if name == "split" && slices.ContainsFunc(words, splitFilter.MatchString) {
		return // a program gets the pieces
	}
	f.pieces = f.pieces || strings.HasSuffix(name, "split")
	for i, word := range words[1:] {
		if strings.ContainsAny(word, " \n") && !listed(makers, name) || name == "rsync" && remoteShell.MatchString(words[i]) {
			continue // a text, or a program
		}
		for _, p := range meanings(word, false) {
			f.make(p)
		}
	}
}

// splitFilter is the option of split that a command follows, or is joined to.
var splitFilter = lazily(`^--f`)

// remoteShell is the option of rsync that a program follows.
var remoteShell = lazily(`^(-[a-zA-Z]*e|--rsh)$`)

// renamed are options that give other names to unpacked files.
var renamed = lazily(`^(--(transform|xform|strip|show-transformed|absolute)|-[a-zA-Z]*[sP]|-?[a-zA-Z]*P[a-zA-Z]*$)`)

// meanings returns the paths that a word may hold: the whole word, the value of
// an option, the part after a colon, and the part behind a cluster of options.
// A text with blanks that is not wholly known is a path only where a file is
// opened.
func meanings(word string, opens bool) []string {
	if word == "" || len(word) > maxPath {
		return nil
	}
	var list []string
	add := func(p string) {
		// An unknown end of a word is the end of a name; where a file is
		// opened, it may be the whole name.
		if n := len(p) - len(string(anyText)); n > 0 && !opens && isUnknown([]rune(p[n:])[0]) {
			p = p[:n] + string(anyName)
		}
		text := !opens && !static(p) && strings.ContainsAny(p, " \t\n")
		if p != "" && len(list) < maxValues && !whollyUnknown(p) && !text {
			list = append(list, p)
		}
	}
	add(word)
	if _, rest, ok := strings.Cut(word, "://"); ok {
		add(rest)
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			add(rest[i:])
		}
	} else {
		for i := range len(word) {
			if strings.IndexByte("=:,@;<>|\"'()", word[i]) >= 0 {
				add(word[i+1:])
			}
		}
		for _, piece := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("=:,@;<>|\"'() \t\n", r) }) {
			if piece != word && (opens || piece != string(anyName)) { // a name in a text
				add(piece)
			}
		}
	}
	if word[0] == '-' {
		for i := 2; i < len(word) && i < 12 && isLetter(word[i-1]); i++ {
			add(word[i:]) // -o/file, -uo/file
		}
	}
	return list
}

const maxPath = 4096

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
