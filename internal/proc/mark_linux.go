package proc

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strconv"
	"time"
)

// marked returns a function that reports whether the environment of a process holds the
// mark. It is for one search.
func (g *group) marked() func(pid int) bool { return finder(g.snapshot) }

// finder returns a function that reports whether a process is ours. One that is just becoming
// another program has no environment for a moment and is looked at again. One search waits for
// all of them together no longer than executingBound: a hostile program can look like one for
// ever.
func finder(look func(pid int) snapshot) func(pid int) bool {
	left := executingBound
	return func(pid int) bool { return settled(pid, look, &left) }
}

const (
	// executingBound is how long a process may take to become another program, once it has
	// let go of the memory of the one before. It takes that long only to read from a slow
	// disk.
	executingBound = 100 * time.Millisecond
	executingPause = 100 * time.Microsecond
	// bareLooks is how often a program without an environment is looked at. The first look
	// may have been just before it got one.
	bareLooks = 5
)

// settled looks at a process until a snapshot shows whether it is ours. It takes the time
// that it waits from left.
func settled(pid int, look func(pid int) snapshot, left *time.Duration) bool {
	for bare := 0; ; {
		switch look(pid).verdict() {
		case ours:
			return true
		case foreign:
			return false
		case unclear:
			if bare++; bare == bareLooks {
				return false
			}
		case executing:
			if *left <= 0 {
				return false
			}
			begin := time.Now()
			time.Sleep(executingPause)
			*left -= time.Since(begin)
		}
	}
}

// snapshot is the state of a process in /proc at one moment.
type snapshot struct {
	marked    bool // its environment holds the mark
	environ   bool // it has an environment, or one that cannot be read: a zombie's, or another user's
	program   bool // a thread of the kernel has none
	arguments bool
}

// snapshot looks at a process. Anything after the environment is looked at only if that
// is empty.
func (g *group) snapshot(pid int) (s snapshot) {
	proc := "/proc/" + strconv.Itoa(pid)
	file, err := os.Open(proc + "/environ")
	if err != nil {
		return snapshot{environ: true}
	}
	defer file.Close()
	env := bufio.NewReaderSize(file, 4<<10)
	if _, err := env.Peek(1); err == nil {
		return snapshot{environ: true, marked: hasEntry(env, MarkVariable+"="+g.mark)}
	}
	_, err = os.Readlink(proc + "/exe")
	s.program = err == nil
	arguments, err := os.ReadFile(proc + "/cmdline")
	s.arguments = err != nil || len(arguments) > 0
	return s
}

// verdict says whose a process is, as far as one snapshot shows.
type verdict int

const (
	ours verdict = iota
	foreign
	unclear   // it has no environment, or has got one since
	executing // it is becoming another program: that has neither arguments nor an environment yet
)

func (s snapshot) verdict() verdict {
	switch {
	case s.marked:
		return ours
	case s.environ || !s.program:
		return foreign
	case s.arguments:
		return unclear
	}
	return executing
}

// maxEnviron is more than an environment can hold: the kernel gives arguments
// and environment together 6 MiB at most.
const maxEnviron = 8 << 20

// hasEntry reports whether an environment, which is entries that end in a zero
// byte, has an entry. Of a larger one than there can be the rest is not read.
func hasEntry(env io.Reader, entry string) bool {
	r := bufio.NewReaderSize(io.LimitReader(env, maxEnviron), 4<<10)
	for whole := true; ; {
		e, err := r.ReadSlice(0)
		if whole && string(bytes.TrimSuffix(e, []byte{0})) == entry {
			return true
		}
		if err != nil && err != bufio.ErrBufferFull {
			return false
		}
		whole = err == nil // else the rest of a long entry follows
	}
}
