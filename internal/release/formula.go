package main

import (
	"fmt"
	"strings"
)

// downloads is where the archives of a version are.
const downloads = "https://github.com/claude-agent-go/claude/releases/download"

// formula writes a Homebrew formula for the archives with these sums. It reports false
// if one that Homebrew needs is missing.
func formula(version string, sums map[string]string) (text string, ok bool) {
	var b strings.Builder
	fmt.Fprintf(&b, `class Claudectl < Formula
  desc "Drive the Claude Code CLI from a shell, look at what it says, or play it"
  homepage "https://%s"
  version "%s"
  license "MIT"
`, modulePath, version)
	for _, system := range []struct{ block, os string }{{"on_macos", "darwin"}, {"on_linux", "linux"}} {
		fmt.Fprintf(&b, "\n  %s do\n", system.block)
		for _, arch := range []struct{ block, arch string }{{"on_arm", "arm64"}, {"on_intel", "amd64"}} {
			name := fmt.Sprintf("claudectl_%s_%s_%s.tar.gz", version, system.os, arch.arch)
			sum := sums[name]
			if sum == "" {
				return "", false
			}
			fmt.Fprintf(&b, "    %s do\n      url \"%s/v%s/%s\"\n      sha256 \"%s\"\n    end\n", arch.block, downloads, version, name, sum)
		}
		b.WriteString("  end\n")
	}
	b.WriteString(`
  def install
    bin.install "claudectl"
    generate_completions_from_executable(bin/"claudectl", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/claudectl --version")
    system bin/"claudectl", "demo"
  end
end
`)
	return b.String(), true
}
