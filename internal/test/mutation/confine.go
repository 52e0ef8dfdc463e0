package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
)

// errUnconfined refuses a package whose mutants could end any process.
var errUnconfined = errors.New("its mutants may signal any process, and there is no unshare to keep others out of their reach")

// confinement is the command that runs another one where it sees no processes but
// its own, nil if there is none on this system. A mutant of the code that chooses
// the processes to signal might choose all of them. Processes that a mutant leaves
// behind end with the run. The shell is there to be the first process, which must
// reap the others.
func confinement() []string {
	if runtime.GOOS != "linux" {
		return nil
	}
	outer := []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"}
	if os.Getuid() != 0 {
		outer = append(outer, "--map-root-user")
	}
	outer = append(outer, "--", "sh", "-c", `"$0" "$@"; exit $?`)
	if exec.Command(outer[0], slices.Concat(outer[1:], []string{"true"})...).Run() != nil {
		return nil
	}
	return outer
}
