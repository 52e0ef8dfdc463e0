package leak

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// mostPatience is how long [Outliving.Within] waits on a machine that gives the
// processes no time to end.
const mostPatience = time.Minute

// Outliving measures how long processes live on, on a clock that a busy machine does
// not advance: time in which the kernel let one of their threads wait for a processor
// does not count. On a machine with processors to spare it is the time on the wall.
type Outliving struct {
	mark  string
	begin time.Time
	waits waits
}

// Outlive begins to measure the processes with an entry in their environment. Call it
// just before the event that is to end them.
func Outlive(mark string) *Outliving {
	o := &Outliving{mark: mark, begin: time.Now(), waits: make(waits)}
	for thread, waited := range waitsOf(MarkedBy(mark)) {
		o.waits[thread] = wait{from: waited, to: waited}
	}
	return o
}

// Within waits until none of the processes is left, and returns how long that took. The
// error names those that are left when the bound is over.
func (o *Outliving) Within(bound time.Duration) (took time.Duration, err error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		left := MarkedBy(o.mark)
		took = time.Since(o.begin)
		if len(left) == 0 {
			return took, nil
		}
		o.waits.note(waitsOf(left))
		waited := o.waits.sum()
		if took-waited > bound || took > mostPatience {
			return took, fmt.Errorf("after %v, of which threads waited %v for a processor, there are still %q", took, waited, left)
		}
	}
}

// waits are how long threads have waited for a processor, by their paths in /proc. A
// thread that is gone keeps what it had.
type waits map[string]wait

// wait is how long a thread had waited when the measurement began, and has now.
type wait struct{ from, to time.Duration }

// note takes a new look. A thread that was not there before began to wait after the
// measurement did.
func (w waits) note(now map[string]time.Duration) {
	for thread, waited := range now {
		w[thread] = wait{from: w[thread].from, to: waited}
	}
}

// sum is how long the threads have waited since the measurement began. Threads that
// wait for each other do so one after the other.
func (w waits) sum() (all time.Duration) {
	for _, one := range w {
		all += one.to - one.from
	}
	return all
}

// waitsOf reads how long the threads of processes have waited. A system that does not
// tell is one on which they never wait.
func waitsOf(processes []string) map[string]time.Duration {
	all := make(map[string]time.Duration)
	for _, process := range processes {
		pid, _, _ := strings.Cut(process, " ")
		threads, _ := filepath.Glob(filepath.Join("/proc", pid, "task", "*", "schedstat")) // the pattern is well-formed
		for _, path := range threads {
			stat, err := os.ReadFile(path)
			// The time on a processor, the time in the queue for one, and how often.
			if fields := bytes.Fields(stat); err == nil && len(fields) == 3 {
				if n, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
					all[path] = time.Duration(n)
				}
			}
		}
	}
	return all
}
