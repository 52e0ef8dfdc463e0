package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
)

// errUnconfined refuses a package whose mutants could end any process.
var errUnconfined = errors.New("its mutants may signal any process, and there is no unshare to keep others out of their reach")

// confinement is the command that runs another one where it sees no processes but
// its own, nil if there is none on this system. A mutant of the code that chooses
// whom to signal might choose everybody. What a mutant leaves running ends with
// the run. The shell is there to be the first process, which must reap the others.
var confinement = sync.OnceValue(func() []string {
	if runtime.GOOS != "linux" {
		return nil
	}
	args := []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"}
	if os.Getuid() != 0 {
		args = append(args, "--map-root-user")
	}
	args = append(args, "--", "sh", "-c", `"$0" "$@"; exit $?`)
	if exec.Command(args[0], slices.Concat(args[1:], []string{"true"})...).Run() != nil {
		return nil
	}
	return args
})

// confined is a command line that runs confined, if that is possible.
func confined(name string, args []string) (string, []string) {
	outer := confinement()
	if outer == nil {
		return name, args
	}
	return outer[0], slices.Concat(outer[1:], []string{name}, args)
}
