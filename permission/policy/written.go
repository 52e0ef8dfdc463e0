package policy

import (
	"slices"
	"strings"
)

// A command may write a file and then run it, even in ways that do not name a
// program: as a hook, as a file of settings, by a patch.

// settle refuses files that are both written and run.
func (f *findings) settle() {
	for _, name := range f.patches {
		if slices.Contains(f.made, name) {
			f.pieces = true // it may write any file
		}
	}
	made := make(map[string]bool, len(f.made))
	for _, name := range f.made {
		made[name] = true
	}
	for _, name := range f.ran {
		if made[name] || f.pieces && f.scripts {
			f.fail("%s is written and run", name)
		}
	}
	if f.left < 0 {
		f.fail("too much to read")
	}
	if f.hooks && (len(f.made) > 0 || f.pieces || slices.ContainsFunc(f.commands, makesFiles)) {
		f.fail("git is told where its hooks are, and files are written")
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
func (f *findings) make(path string) {
	if strings.HasSuffix(path, "/") {
		return // a directory
	}
	f.pieces = f.pieces || !static(base(path))
	f.made = append(f.made, base(path))
	if strings.Contains(path, "hooks/") || hookName.MatchString(base(path)) {
		f.made = append(f.made, gitHook)
	}
	if ext := source.compile().FindString(path); ext != "" {
		f.made = append(f.made, "*"+ext)
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
func (f *findings) runFile(path string) {
	switch {
	case !static(path):
		f.fail("the name of a script is not known before it runs")
	case path == "-" || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/"):
		f.fail("a script that comes from %s", path)
	}
	f.ran = append(f.ran, base(path))
	f.scripts = true
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
func (f *findings) loads(name string) {
	for _, l := range loaded {
		if listed(l.programs, name) {
			f.ran = append(f.ran, strings.Fields(l.files)...)
		}
	}
}

// unpacked are the endings that a program removes when it unpacks a file.
var unpacked = lazily(`\.(gz|xz|bz2|zst|lz|lzma|Z|tgz)$`)

// compilers write a program with -o, which exists to be run.
const compilers = " go gcc g++ cc c++ clang clang++ ld as rustc cargo javac swiftc kotlinc emcc protoc cmake tsc wasm-pack dotnet buf nim zig ghc ocaml "

// output records the file that an option such as -o names.
func (f *findings) output(name string, words []string) {
	if listed(compilers, name) {
		return
	}
	for i, word := range words[1:] {
		m := namedOutput.FindStringSubmatch(word)
		if m != nil && m[1] != "" {
			f.make(m[1])
		} else if m != nil && i+2 < len(words) {
			f.make(words[i+2])
		}
	}
}

var namedOutput = lazily(`^(?:-[a-zA-Z]*o|-O|--` + abbreviated("output", 1) + `(?:=|$)|--output-[a-z]+=)(.*)$`)

// patchTarget are the lines of a patch that name the files it changes.
var patchTarget = lazily(`(?m)^(?:\+\+\+|---|\*\*\*|Index:|rename to|copy to|diff --git \S+) +([^\t\n]+)`)

// patch records the files that a patch changes: those that its text names. A
// patch that the text assembles (told) may change any file.
func (f *findings) patch(words []string, in input, told bool) {
	if told || in.other {
		f.pieces = true
	}
	for _, text := range in.texts {
		found := patchTarget.compile().FindAllStringSubmatch(text, -1)
		if len(found) == 0 || !static(text) {
			f.pieces = true
		}
		for _, m := range found {
			f.make(strings.TrimSpace(m[1]))
		}
	}
	for _, name := range append(slices.Clone(words[1:]), in.file) {
		for _, p := range meanings(name, false) {
			f.patches = append(f.patches, base(p))
		}
		if strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/") {
			f.pieces = true
		}
	}
}
