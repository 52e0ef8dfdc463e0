package policy

import (
	"slices"
	"strings"
)

// A command may write a file and then run it, even in ways that do not name a
// program: as a hook, as a file of settings, by a patch.

// settle refuses files that are both written and run.
func (s *script) settle() {
	for _, name := range s.patches {
		if slices.Contains(s.made, name) {
			s.pieces = true // it may write any file
		}
	}
	made := make(map[string]bool, len(s.made))
	for _, name := range s.made {
		made[name] = true
	}
	for _, name := range s.ran {
		if made[name] || s.pieces && s.scripts {
			s.fail("%s is written and run", name)
		}
	}
	if s.left < 0 {
		s.fail("too much to read")
	}
	if s.hooks && (len(s.made) > 0 || s.pieces || slices.ContainsFunc(s.commands, makesFiles)) {
		s.fail("git is told where its hooks are, and files are written")
	}
}

// makesFiles reports whether a command may write the hooks of git.
func makesFiles(c command) bool {
	name := base(c.words[0])
	return name != "git" && listed(writers, name) || name == "git" && slices.ContainsFunc(c.words[1:], func(w string) bool {
		return listed(" apply am checkout restore pull merge clone stash cherry-pick switch reset ", w)
	})
}

// make records a file that is written.
func (s *script) make(path string) {
	if strings.HasSuffix(path, "/") {
		return // a directory
	}
	s.pieces = s.pieces || !static(base(path))
	s.made = append(s.made, base(path))
	if strings.Contains(path, "hooks/") || hookName.MatchString(base(path)) {
		s.made = append(s.made, gitHook)
	}
	if ext := source.compile().FindString(path); ext != "" {
		s.made = append(s.made, "*"+ext)
	}
}

// gitHook stands for all programs that git runs by itself.
const gitHook = "git/hooks"

// hookName are the names of the programs that git runs by itself, wherever its
// settings put them.
var hookName = lazily(`^((pre|post)-(applypatch|commit|merge-commit|merge|rebase|checkout|push|receive|update|auto-gc|rewrite|index-change)|(applypatch|commit|prepare-commit)-msg|update|proc-receive|reference-transaction|push-to-checkout|sendemail-validate|fsmonitor-watchman|p4-\w+)$`)

// source are the endings of files that tools run, or build and run, merely
// because they exist.
var source = lazily(`\.(go|c|cc|cpp|h|rs|py|pth|js|cjs|mjs|ts|pm|pl|rb|mk)$`)

// runFile records a file that is run as a script, which must not be a pipe or
// something that only the shell knows.
func (s *script) runFile(path string) {
	switch {
	case !static(path):
		s.fail("the name of a script is not known before it runs")
	case path == "-" || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/"):
		s.fail("a script that comes from %s", path)
	}
	s.ran = append(s.ran, base(path))
	s.scripts = true
}

// loaded are the files that programs run, or that hold settings which name
// programs to run, merely because they exist.
var loaded = []struct{ programs, files string }{
	{" gdb ", ".gdbinit .gdbearlyinit"}, {" lldb ", ".lldbinit"}, {" vim vi nvim view vimdiff ex ", ".vimrc .exrc init.vim init.lua"}, {" emacs ", ".emacs init.el"},
	{" tmux ", ".tmux.conf"}, {" screen ", ".screenrc"}, {" sqlite3 ", ".sqliterc"}, {" psql ", ".psqlrc"}, {" mysql mariadb ", ".my.cnf"}, {" curl ", ".curlrc"}, {" wget ", ".wgetrc"},
	{" ssh scp sftp rsync git ", "config"}, {" irb pry ", ".irbrc .pryrc"}, {" R Rscript ", ".Rprofile"}, {" octave ", ".octaverc"}, {" ack ", ".ackrc"}, {" less man ", ".lesskey"}, {" screen ", ".screenrc"},
	{" eslint prettier jest vitest webpack vite tsc markdownlint ", "*.js *.cjs *.mjs *.ts package.json .eslintrc .prettierrc"},
	{" pytest py.test tox black ruff mypy flake8 isort pylint poetry uv pip pip3 nox ", "*.py *.pth tox.ini setup.cfg pytest.ini pyproject.toml .pylintrc .flake8"},
	{" cargo rustc ", "*.rs config.toml Cargo.toml"}, {" mvn ", "pom.xml jvm.config maven.config"}, {" gradle ", "build.gradle settings.gradle init.gradle gradle.properties build.gradle.kts"},
	{" mix ", "mix.exs *.exs"}, {" bundle rake gem ", "Gemfile Rakefile *.rb"}, {" composer ", "composer.json"}, {" dotnet ", "Directory.Build.props Directory.Build.targets"}, {" terraform ", "*.tf .terraformrc"},
	{" ctest ", "CTestTestfile.cmake"}, {" pre-commit ", ".pre-commit-config.yaml"}, {" direnv ", ".envrc"}, {" ansible ansible-playbook ", "ansible.cfg"}, {" bazel ", ".bazelrc BUILD WORKSPACE"}, {" claude claudectl ", "settings.json settings.local.json .mcp.json"},
}

// loads records the files that a program runs merely because they exist.
func (s *script) loads(name string) {
	for _, l := range loaded {
		if listed(l.programs, name) {
			s.ran = append(s.ran, strings.Fields(l.files)...)
		}
	}
}

// unpacked are the endings that a program removes when it unpacks a file.
var unpacked = lazily(`\.(gz|xz|bz2|zst|lz|lzma|Z|tgz)$`)

// compilers write a program with -o, which exists to be run.
const compilers = " go gcc g++ cc c++ clang clang++ ld as rustc cargo javac swiftc kotlinc emcc protoc cmake tsc wasm-pack dotnet buf nim zig ghc ocaml "

// output records the file that an option such as -o names.
func (s *script) output(name string, words []string) {
	if listed(compilers, name) {
		return
	}
	for i, word := range words[1:] {
		m := namedOutput.FindStringSubmatch(word)
		if m != nil && m[1] != "" {
			s.make(m[1])
		} else if m != nil && i+2 < len(words) {
			s.make(words[i+2])
		}
	}
}

var namedOutput = lazily(`^(?:-[a-zA-Z]*o|-O|--` + abbreviated("output", 1) + `(?:=|$)|--output-[a-z]+=)(.*)$`)

// patchTarget are the lines of a patch that name the files it changes.
var patchTarget = lazily(`(?m)^(?:\+\+\+|---|\*\*\*|Index:|rename to|copy to|diff --git \S+) +([^\t\n]+)`)

// patch records the files that a patch changes: those that its text names. A
// patch that the text assembles may change any file.
func (s *script) patch(words []string, in input) {
	if s.piped > 0 && s.told || in.other {
		s.pieces = true
	}
	for _, text := range in.texts {
		found := patchTarget.compile().FindAllStringSubmatch(text, -1)
		if len(found) == 0 || !static(text) {
			s.pieces = true
		}
		for _, m := range found {
			s.make(strings.TrimSpace(m[1]))
		}
	}
	for _, name := range append(slices.Clone(words[1:]), in.file) {
		for _, p := range meanings(name, false) {
			s.patches = append(s.patches, base(p))
		}
		if strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/") {
			s.pieces = true
		}
	}
}
