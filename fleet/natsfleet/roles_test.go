package natsfleet_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/store/storetest"
)

// roles are the programs that the test binary can run instead of the tests.
// Exactly one is set.
type roles struct {
	Worker  *workerRole
	Node    *nodeRole
	Example *exampleRole
	Owner   string // the URL of a store, for storetest.Own
	Beside  beside
}

const roleVariable = "NATSFLEET_TEST_ROLE"

// TestMain lets the test binary be the other process of a test.
func TestMain(m *testing.M) {
	text := os.Getenv(roleVariable)
	if text == "" {
		manyAtOnce()
		os.Exit(m.Run())
	}
	os.Unsetenv(roleVariable) // not for its children
	var r roles
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	switch {
	case r.Worker != nil:
		os.Exit(work(*r.Worker))
	case r.Node != nil:
		os.Exit(serveNode(*r.Node))
	case r.Example != nil:
		os.Exit(r.Example.run())
	}
	s, err := natsfleet.OpenStore(context.Background(), r.Beside.options(natsfleet.Options{URL: r.Owner}, nil))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(storetest.Own(s))
}

// manyAtOnce lets more tests run in parallel than there are processors, unless
// -parallel is set: they wait for elections and leases, and compute little.
func manyAtOnce() {
	const name = "test.parallel"
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == name })
	if !chosen {
		if err := flag.Set(name, "8"); err != nil {
			panic(err) // package testing has this flag
		}
	}
}

// command is the test binary in a role.
func (r roles) command() *exec.Cmd {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // texts and numbers
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+string(text), leak.Mark())
	return cmd
}
