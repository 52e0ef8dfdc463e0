package policy

import (
	"path"
	"slices"
	"strings"
)

// everyCommand lists every command that a shell might run, its words without
// quotes: also inside substitutions, and behind words that start another
// command. With them come the words that may name a file. It is not ok if the
// text cannot be read.
func everyCommand(text string) (commands []string, files []shellFile, ok bool) {
	f := finder{left: 64<<10 + 16*len(text)}
	ok = f.find(text)
	return f.commands, f.files, ok
}

// shellFile is a word of a command that may name a file.
type shellFile struct {
	name   string
	writes bool // by what is known of the command
}

// finder collects commands. Text that is made to keep it busy, such as a long
// row of words that each may start the rest, uses up what is left and cannot
// be read then.
type finder struct {
	commands []string
	files    []shellFile
	left     int // bytes of commands
}

// find reads the text as a shell does. What is a comment and what a document
// inside a command takes more of a shell to know than there is here, so the
// text is read in other ways too: what one of them finds counts.
func (f *finder) find(text string) bool {
	if f.left -= len(text) + 1; f.left < 0 {
		return false
	}
	text = joined(text)
	if !f.read(text, true) {
		return false
	}
	if strings.Contains(text, "#") {
		f.read(text, false)
	}
	if strings.Contains(text, "<<") {
		f.lines(text)
	}
	return f.left >= 0
}

// lines reads every line by itself.
func (f *finder) lines(text string) {
	for line := range strings.Lines(text) {
		f.read(line, true)
	}
}

func (f *finder) read(text string, comments bool) bool {
	s := splitter{text: text, comments: comments}
	if !s.split() {
		return false
	}
	for _, p := range s.pieces {
		if !f.piece(p) {
			return false
		}
	}
	return true
}

// piece takes one command.
func (f *finder) piece(p piece) bool {
	f.name(p)
	starter := false
	for i, word := range p.words {
		name := path.Base(word)
		rest := p.words[i+1:]
		for _, first := range []string{word, name} {
			command := strings.Join(append([]string{first}, rest...), " ")
			if f.left -= len(command); f.left < 0 {
				return false
			}
			f.commands = append(f.commands, command)
		}
		texts, certain := scripts(name, rest)
		for _, text := range texts {
			if !f.inner(text) && (certain || f.left < 0) {
				return false
			}
		}
		// Which words after a starter are its own, and where the command
		// begins, depends on its options: every word may be the one, or hold
		// a whole script.
		if starter && strings.ContainsAny(word, " \t\n;|&") && !f.inner(word) && f.left < 0 {
			return false
		}
		starter = starter || startsOthers(word)
		if !starter && !strings.Contains(word, "=") {
			break
		}
	}
	return true
}

// inner takes a text that may be a script, and its lines at least.
func (f *finder) inner(text string) bool {
	if f.find(text) {
		return true
	}
	f.lines(text)
	return false
}

// name collects the words that may be files.
func (f *finder) name(p piece) {
	writes := slices.ContainsFunc(p.words, writesFiles)
	for i, word := range p.words {
		if i > 0 || strings.Contains(word, "/") {
			f.files = append(f.files, shellFile{word, writes})
		}
	}
	for _, word := range p.reads {
		f.files = append(f.files, shellFile{word, false})
	}
	for _, word := range p.writes {
		f.files = append(f.files, shellFile{word, true})
	}
}

// starters are words that come before a command.
var starters = [...]string{
	"!", "if", "then", "elif", "else", "while", "until", "do", "time", "coproc",
	"env", "sudo", "doas", "su", "runuser", "pkexec", "nohup", "nice", "ionice", "chrt", "taskset", "stdbuf", "unbuffer",
	"setsid", "setarch", "chroot", "unshare", "nsenter", "flock", "script", "strace", "ltrace", "systemd-run", "fakeroot",
	"command", "builtin", "exec", "xargs", "parallel", "timeout", "watch", "entr", "busybox", "toybox", "find",
}

func startsOthers(word string) bool { return slices.Contains(starters[:], path.Base(word)) }

// writers are programs that change the files they are given.
var writers = [...]string{
	"touch", "mkdir", "rm", "rmdir", "unlink", "shred", "mv", "cp", "ln", "install", "rsync", "tee", "truncate", "dd", "split",
	"sed", "perl", "ed", "ex", "vi", "vim", "patch", "sort", "chmod", "chown", "chgrp", "tar", "unzip", "gzip", "gunzip", "git",
}

func writesFiles(word string) bool { return slices.Contains(writers[:], path.Base(word)) }

// scripts are the texts that a command hands to a shell; it is not certain for
// all of them that it does.
func scripts(name string, args []string) (texts []string, certain bool) {
	switch name {
	case "eval":
		return []string{strings.Join(args, " ")}, true
	case "trap":
		return args, false
	case "alias":
		return after("=", args), false
	case "env": // -S and --split-string=, alone or with other options
		return append(after("S", after("-", args)), after("=", args)...), false
	case "sh", "bash", "zsh", "dash", "ksh", "ash", "fish":
		if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") && strings.Contains(a, "c") }) {
			return args, true
		}
	}
	return nil, false
}

// after returns what follows a mark in the texts that have it.
func after(mark string, texts []string) []string {
	var rest []string
	for _, text := range texts {
		if _, tail, ok := strings.Cut(text, mark); ok && tail != "" {
			rest = append(rest, tail)
		}
	}
	return rest
}
