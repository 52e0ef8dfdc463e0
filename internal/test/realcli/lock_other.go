//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package realcli

import (
	"context"
	"os"
)

const exclusive = false

// lock does not exclude others here: the rename at the end decides who wins.
func lock(context.Context, string) (unlock func(), err error) {
	return func() {}, nil
}

func interrupt(p *os.Process) error { return p.Kill() }
