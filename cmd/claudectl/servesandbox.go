package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/claude-agent-go/claude/sandbox"
	"github.com/claude-agent-go/claude/serve"
)

// serveSandbox is the flag that puts the CLIs of a server into sandboxes.
type serveSandbox struct {
	Sandbox string `enum:",bubblewrap" default:"" placeholder:"FORM" help:"Run each CLI in a sandbox that has its working directory and no network: bubblewrap. It needs --egress."`
}

// apply lets the CLIs of all presets start in sandboxes. Without the flag it does nothing.
func (s *serveSandbox) apply(presets []serve.Preset, demo, egress bool) error {
	usage := func(text string) error { return &failure{exitUsage, errors.New("--sandbox" + text)} }
	switch {
	case s.Sandbox == "":
		return nil
	case demo:
		return usage(": the simulated agent of --demo runs no commands")
	case !egress:
		return usage(" needs --egress: without a network a CLI reaches the API through the proxy")
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		return &failure{exitUsage, fmt.Errorf("--sandbox bubblewrap: %w: install bubblewrap, which there is for Linux", err)}
	}
	helper, err := os.Executable()
	if err != nil {
		return &failure{exitFailed, err}
	}
	for i := range presets {
		o := presets[i].Options
		b := &sandbox.Bubblewrap{Helper: helper}
		for _, dir := range o.AddDirs {
			if !filepath.IsAbs(dir) {
				return usage(fmt.Sprintf(": preset %q: the directory %q of add_dirs is not an absolute path", presets[i].Name, dir))
			}
			b.Mounts = append(b.Mounts, sandbox.Mount{Source: dir, Writable: true})
		}
		o.Transport = b
	}
	return nil
}
