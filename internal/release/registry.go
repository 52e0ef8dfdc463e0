package main

import (
	"encoding/json"
	"fmt"

	"github.com/claude-agent-go/claude/internal/release/platform"
)

// registryFile is the entry for the registry of agents that speak the Agent Client
// Protocol, from which editors install them.
const registryFile = "agent.json"

// registryTarget is an archive of the entry, with the command in it.
type registryTarget struct {
	Archive string   `json:"archive"`
	Cmd     string   `json:"cmd"`
	Args    []string `json:"args"`
}

// registryEntry writes the entry for a version whose archives have these sums. It
// reports false if an archive for a system of the registry is missing.
func registryEntry(version string, sums map[string]string) (text []byte, ok bool) {
	targets := make(map[string]registryTarget)
	for _, os := range []string{"darwin", "linux", "windows"} {
		for arch, name := range map[string]string{"arm64": "aarch64", "amd64": "x86_64"} {
			system := platform.Platform{OS: os, Arch: arch}
			archive := fmt.Sprintf("claudectl_%s_%s_%s%s", version, os, arch, archiveSuffix(system))
			if sums[archive] == "" {
				return nil, false
			}
			targets[os+"-"+name] = registryTarget{fmt.Sprintf("%s/v%s/%s", downloads, version, archive), "./" + programName(system), []string{"acp"}}
		}
	}
	text, err := json.MarshalIndent(map[string]any{
		"id": "claudectl", "name": "claudectl", "version": version, "license": "MIT",
		"description":  "Claude Code in editors, from one program, with questions that survive it",
		"repository":   "https://" + modulePath,
		"authors":      []string{"claude-agent-go"},
		"distribution": map[string]any{"binary": targets},
	}, "", "  ")
	return append(text, '\n'), err == nil
}
