package policy

import "fmt"

// Bounds on reading. A command beyond them cannot be read.
const (
	maxScript   = 128 << 10 // bytes of a command
	maxNesting  = 200       // brackets and keywords inside each other
	maxInner    = 12        // scripts inside scripts
	maxWork     = 72 << 10  // bytes of words that are read in any text, including inner scripts
	workOfByte  = 4         // how many more for each byte of the text
	costOfText  = 512       // the cost of each inner script beyond its bytes
	costOfCall  = 320       // the cost of each command
	costOfValue = 24        // the cost of each further value of a word, whenever it is expanded
)

// bounds limits the work that a text may cost, and keeps why it is not read.
type bounds struct {
	// unread is why the text cannot be understood before it runs; empty if it
	// can.
	unread string
	inner  int // how many scripts enclose this one
	left   int // of the work for this text
}

// fail records that the text cannot be read, and why.
func (b *bounds) fail(format string, args ...any) {
	if b.unread == "" {
		b.unread = fmt.Sprintf(format, args...)
	}
}

// refuse records why the text cannot be read; empty: it can.
func (b *bounds) refuse(why string) {
	if b.unread == "" {
		b.unread = why
	}
}

// spend reports whether there is work left for n bytes.
func (b *bounds) spend(n int) bool {
	if b.left -= n + 1; b.left < 0 {
		b.fail("too much to read")
	}
	return b.left >= 0
}

// findings lists what a text for the shell may run, as far as that can be known
// before it runs: a flat list of simple commands, from wherever in the text
// they come, and of the words that may name files.
type findings struct {
	bounds
	commands []command
	files    []shellFile
	dirs     []string // that commands may run in: the targets of cd and its kin
	links    []link   // that commands make
	homes    []string // other values of HOME
	texted   []string // here-documents, which may list files
	blind    bool     // a program that writes is given an unknown name

	made, ran []string // names of files that are written, and of those that run
	patches   []string // names of files that are applied as patches
	pieces    bool     // files with unknown names are written
	scripts   bool     // a script is run by its name
	hooks     bool     // git is told where to find the programs that it runs by itself
	obscured  bool     // a program is given an assembled value, and may take it for a file
}

// command is a simple command: a program and its arguments.
type command struct {
	words []string
	// open reports that the program may run its arguments, or read them as
	// code: every one of its words may begin a command.
	open bool
}

// shellFile is a word of a command that may name a file.
type shellFile struct {
	name   string
	writes bool // as far as the command is known
	opens  bool // certainly: an unknown word may be this file
	makes  bool // the command only creates it, and does not read it
}

// maybe reads a command that a program may run. Unless it certainly runs it,
// unreadable parts do not count.
func (f *findings) maybe(sure bool, read func()) {
	before, files, dirs := f.unread, len(f.files), len(f.dirs)
	if read(); !sure && f.left >= 0 {
		f.unread, f.files, f.dirs = before, f.files[:files], f.dirs[:dirs]
	}
}
