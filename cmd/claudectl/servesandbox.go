package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/sandbox"
	"github.com/claude-agent-go/claude/serve"
)

// serveSandbox are the flags that put the CLIs of a server into sandboxes.
type serveSandbox struct {
	Sandbox      string   `enum:",bubblewrap,podman,docker" default:"" placeholder:"FORM" help:"Run each CLI in a sandbox that has its working directory and no network: bubblewrap, or a container of podman or docker. It needs --egress."`
	SandboxImage string   `placeholder:"IMAGE" help:"With podman or docker: the image with the programs that Claude may use."`
	SandboxCLI   string   `name:"sandbox-cli" placeholder:"PATH" help:"With podman or docker: the CLI in the image. Default: the one of this machine is mounted."`
	SandboxArg   []string `sep:"none" placeholder:"ARG" help:"With podman or docker: one more argument for its command \"run\", such as --runtime=runsc."`
}

// apply lets the CLIs of all presets start in sandboxes. Without the flag it does nothing.
func (s *serveSandbox) apply(presets []serve.Preset, demo, egress bool) error {
	usage := func(text string) error { return &failure{exitUsage, errors.New("--sandbox" + text)} }
	inContainer := s.Sandbox != "" && s.Sandbox != "bubblewrap"
	switch {
	case !inContainer && (s.SandboxImage != "" || s.SandboxCLI != "" || len(s.SandboxArg) > 0):
		return usage("-image, --sandbox-cli and --sandbox-arg need --sandbox podman or docker")
	case s.Sandbox == "":
		return nil
	case demo:
		return usage(": the simulated agent of --demo runs no commands")
	case !egress:
		return usage(" needs --egress: without a network a CLI reaches the API through the proxy")
	case inContainer && s.SandboxImage == "":
		return usage(" " + s.Sandbox + " needs --sandbox-image, which has the programs that Claude may use")
	}
	program := s.Sandbox
	if !inContainer {
		program = "bwrap"
	}
	if _, err := exec.LookPath(program); err != nil {
		return &failure{exitUsage, fmt.Errorf("--sandbox %s: %w: install %[1]s, on Linux", s.Sandbox, err)}
	}
	helper, err := os.Executable()
	if err != nil {
		return &failure{exitFailed, err}
	}
	for i := range presets {
		o := presets[i].Options
		var mounts []sandbox.Mount
		for _, dir := range o.AddDirs {
			if !filepath.IsAbs(dir) {
				return usage(fmt.Sprintf(": preset %q: the directory %q of add_dirs is not an absolute path", presets[i].Name, dir))
			}
			mounts = append(mounts, sandbox.Mount{Source: dir, Writable: true})
		}
		o.Transport = s.form(helper, mounts)
	}
	return nil
}

// form returns the sandbox of a preset.
func (s *serveSandbox) form(helper string, mounts []sandbox.Mount) claude.Transport {
	if s.Sandbox == "bubblewrap" {
		return &sandbox.Bubblewrap{Helper: helper, Mounts: mounts}
	}
	// The working directories belong to the user of the server, and only it may write there.
	uid, gid := os.Getuid(), os.Getgid()
	args := s.SandboxArg
	if s.Sandbox == "podman" && uid != 0 {
		// Without root, podman makes another user of the one inside.
		args = append([]string{"--userns=keep-id"}, args...)
	}
	return &sandbox.Container{
		Program: s.Sandbox, Args: args, Image: s.SandboxImage, CLI: s.SandboxCLI, Helper: helper, Mounts: mounts,
		User: fmt.Sprintf("%d:%d", uid, gid),
	}
}
