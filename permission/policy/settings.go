package policy

import (
	"slices"
	"strings"
)

// Settings decide what a program runs, now or at its next start: an alias, a
// script of a package, a linker. Those of git are in running.go.

// setting reads a setting of a program: m is the argument that begins it, and
// rest are the words after it.
func (s *script) setting(name string, m, rest []string) {
	value := ""
	if len(m) > 1 && m[1] != "" {
		value = m[1]
	} else if len(rest) > 0 {
		value = rest[0]
	}
	switch name {
	case "git":
		s.gitSettings(m, rest)
	case "gh":
		s.ghSetting(m[0], rest)
	case "npm", "pnpm", "yarn": // set-script NAME SCRIPT
		if len(rest) > 1 {
			s.certainLine(rest[1])
		}
	case "cargo":
		if strings.HasPrefix(m[0], "--config") {
			s.cargoSetting(value)
			return
		}
		fallthrough
	case "rustc": // the arguments of its linker, which is a compiler
		s.command(append([]string{"cc"}, strings.Fields(value)...), input{})
	default: // -wrapper of a compiler: words that commas join
		if value == "" {
			s.fail("%s is told what starts its parts", name)
			return
		}
		s.command(strings.Split(value, ","), input{})
	}
}

// ghSetting reads the expansion of an alias, or a setting, of gh.
func (s *script) ghSetting(kind string, rest []string) {
	names := operands(append([]string{""}, rest...))
	switch {
	case len(names) == 0:
	case names[0] == "import":
		s.fail("gh takes its aliases from a file")
	case names[0] != "set":
	case len(names) < 3: // the alias comes from the input
		if kind == "alias" {
			s.fail("gh is told to run another command")
		}
	case kind == "config":
		if ghCommand.MatchString(names[1]) {
			s.certainLine(names[2])
		}
	case strings.HasPrefix(names[2], "!") || slices.ContainsFunc(rest, ghShell.MatchString):
		s.certain(strings.TrimPrefix(names[2], "!"))
	default:
		s.command(append([]string{"gh"}, strings.Fields(unquoted(names[2]))...), input{})
	}
}

var (
	ghCommand = lazily(`^(editor|pager|browser)$`)
	ghShell   = lazily(`^(-[a-z]*s|--s)`)
)

// cargoSetting reads a setting of cargo. It is written in TOML, has many ways to
// name a program and may also be the name of a file, so only keys that are known
// to start nothing pass.
func (s *script) cargoSetting(text string) {
	if !harmlessCargo.MatchString(text) {
		s.fail("cargo is told what to run")
	}
}

var harmlessCargo = lazily(`^(net\.(git-fetch-with-cli|offline|retry)|http\.[a-z-]+|term\.[a-z.-]+|build\.(jobs|target-dir|incremental)|profile\.[a-z]+\.(opt-level|debug|lto|strip|panic|incremental|codegen-units|overflow-checks|debug-assertions|split-debuginfo|rpath)) *= *[\w"'./-]+$`)

// compilerFlags are variables that hold arguments of rustc, with the same
// effects as the arguments themselves.
var compilerFlags = lazily(`^(CARGO_\w+_|CARGO_ENCODED_)?RUSTFLAGS$`)

// cargoAlias are variables that hold arguments of cargo.
var cargoAlias = lazily(`^CARGO_ALIAS_\w+$`)

// shellSetting are variables and arguments that name the shell of a program,
// which may well be a shell.
var shellSetting = lazily(`(?i)^(--)?(\w+_)?(script[-_])?shell([:+?!]*=|$)`)

// shellLine reads the name of a shell that a program starts.
func (s *script) shellLine(text string) {
	if words := strings.Fields(text); len(words) == 1 && listed(shells, base(words[0])) && plainLine.MatchString(text) {
		return
	}
	s.certainLine(text)
}

// takesOver reports whether a program that another one starts with arguments of
// its own runs these: a shell as an editor runs the message that it is given.
func takesOver(words []string) bool {
	name := base(words[0])
	if _, ok := languageOf(name); ok {
		return true
	}
	options := !slices.ContainsFunc(words[1:], func(w string) bool { return !strings.HasPrefix(w, "-") })
	if listed(shells, name) {
		return options
	}
	return len(words) > 1 && options && listed(" make gmake just ninja gdb patch source . eval ", name)
}
