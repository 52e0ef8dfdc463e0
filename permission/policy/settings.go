package policy

import (
	"slices"
	"strings"
)

// Settings decide what a program runs, now or at its next start: an alias, a
// script of a package, a linker. Those of git are in running.go.

// setting reads a setting of a program: m is the argument that begins it, and
// rest are the words after it.
func (c *calls) setting(name string, m, rest []string) {
	value := ""
	if len(m) > 1 && m[1] != "" {
		value = m[1]
	} else if len(rest) > 0 {
		value = rest[0]
	}
	switch name {
	case "git":
		c.gitSettings(m, rest)
	case "gh":
		c.ghSetting(m[0], rest)
	case "npm", "pnpm", "yarn": // set-script NAME SCRIPT
		if len(rest) > 1 {
			c.certainLine(rest[1])
		}
	case "cargo":
		if strings.HasPrefix(m[0], "--config") {
			c.cargoSetting(value)
			return
		}
		fallthrough
	case "rustc": // the arguments of its linker, which is a compiler
		c.command(append([]string{"cc"}, strings.Fields(value)...), input{})
	default: // -wrapper of a compiler: words that commas join
		if value == "" {
			c.fail("%s is told what starts its parts", name)
			return
		}
		c.command(strings.Split(value, ","), input{})
	}
}

// ghSetting reads the expansion of an alias, or a setting, of gh.
func (c *calls) ghSetting(kind string, rest []string) {
	names := operands(append([]string{""}, rest...))
	switch {
	case len(names) == 0:
	case names[0] == "import":
		c.fail("gh takes its aliases from a file")
	case names[0] != "set":
	case len(names) < 3: // the alias comes from the input
		if kind == "alias" {
			c.fail("gh is told to run another command")
		}
	case kind == "config":
		if ghCommand.MatchString(names[1]) {
			c.certainLine(names[2])
		}
	case strings.HasPrefix(names[2], "!") || slices.ContainsFunc(rest, ghShell.MatchString):
		c.certain(strings.TrimPrefix(names[2], "!"))
	default:
		c.command(append([]string{"gh"}, strings.Fields(unquoted(names[2]))...), input{})
	}
}

var (
	ghCommand = lazily(`^(editor|pager|browser)$`)
	ghShell   = lazily(`^(-[a-z]*s|--s)`)
)

// cargoSetting reads a setting of cargo. It is written in TOML, has many ways to
// name a program and may also be the name of a file, so only keys that are known
// to start nothing pass.
func (c *calls) cargoSetting(text string) {
	if !harmlessCargo.MatchString(text) {
		c.fail("cargo is told what to run")
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
func (c *calls) shellLine(text string) {
	if words := strings.Fields(text); len(words) == 1 && listed(shells, base(words[0])) && plainLine.MatchString(text) {
		return
	}
	c.certainLine(text)
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

// Variables that shells and programs run, or read as code.
var (
	// An assignment to these gives a command another name.
	renaming = lazily(`^(BASH_ALIASES|BASH_CMDS|aliases|galiases|saliases|functions|commands|nameddirs)$`)
	// An assignment to these is an expression, whose subscripts are code.
	counting = lazily(`^(S?RANDOM|SECONDS|LINENO|OPTIND|HISTCMD|BASHPID|BASH_SUBSHELL|EPOCH\w+|FUNCNEST)$`)
	// These are expanded like a word, and their substitutions run.
	prompts = lazily(`^(PS[0-4]|PROMPT[0-9]?|RPROMPT|RPS1|ENV|BASH_ENV|ZDOTDIR|NULLCMD|READNULLCMD)$`)
	// These load code, or settings that name commands.
	loading = lazily(`^(PERL5(OPT|DB|LIB)|PERLLIB|RUBYLIB|PYTHON(STARTUP|INSPECT|BREAKPOINT|HOME|USERBASE)|LUA_INIT\w*|MAKEFILES|COMPILER_PATH|GCC_EXEC_PREFIX|APT_CONFIG|TCLLIBPATH|BASH_LOADABLES_PATH|LD_\w+|DYLD_\w+|GIT_CONFIG|GIT_CONFIG_(GLOBAL|SYSTEM|COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)|GIT_(EXEC_PATH|TEMPLATE_DIR)|MAILPATH|LESSKEY\w*)$`)
	// These hold options of programs, of which a few are known to be harmless.
	optional       = lazily(`^(NODE_OPTIONS|RUBYOPT|LESS|MORE|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS)$`)
	harmlessOption = lazily(`^((--(max-old-space-size=\d+|no-warnings|no-deprecation|enable-source-maps|experimental-vm-modules|unhandled-rejections=\w+)|-[A-Zacefijmnqrsuvwx]+|-W\w*|-X\w*)( |$))*$`)
	// These are commands.
	commandVariable = lazily(`^(GIT_)?(EDITOR|PAGER|ASKPASS)$|^(GIT_(SSH|SSH_COMMAND|EXTERNAL_DIFF|PROXY_COMMAND)|GOAUTH|VISUAL|FCEDIT|BROWSER|MANPAGER|SYSTEMD_(PAGER|EDITOR)|DELTA_PAGER|BAT_PAGER|GH_(EDITOR|PAGER|BROWSER)|LESSOPEN|LESSCLOSE|PROMPT_COMMAND|(SSH|SUDO)_ASKPASS|RSYNC_RSH|CVS_RSH|SVN_(EDITOR|SSH|MERGE)|HGEDITOR|HGMERGE|HG|KUBE_EDITOR|KUBECTL_EXTERNAL_DIFF|HOMEBREW_(EDITOR|BROWSER)|(CARGO_BUILD_)?(RUSTC|RUSTDOC|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER)|CARGO_TARGET_\w+_(RUNNER|LINKER)|CMAKE_\w+_LAUNCHER|TAR_LONGLINK_100|FZF_DEFAULT_COMMAND|SHELL|MAKE|TERMINAL|DPKG_\w+|NPM_CONFIG_(SHELL|SCRIPT_SHELL|EDITOR)|npm_config_(shell|script_shell|editor))$`)
	// These are options by which programs run something.
	runningFlag = lazily(`(?i)(^|\s|-)-?(toolexec|exec|vettool|wrapper|plugin|javaagent|agentlib|agentpath|XX:On\w*Error|require|import|loader|eval|init-hook|preview|bind|checkpoint-action|to-command|use-compress-program|extld|specs)\b`)
	// These hold commands, or options of programs that run something.
	commanding = lazily(`^(PROMPT_COMMAND|VISUAL|BROWSER|FCEDIT|CC|CXX|LD|AR|TERMINAL)$|^(GIT|LD|DYLD|BASH)_|EDITOR|PAGER|SHELL$|COMMAND|CMD|EXEC|RSH|SSH|ASKPASS|OPTIONS|OPTS?$|FLAGS$|WRAPPER|LESSOPEN|LESSCLOSE|STARTUP|PROGRAM|VIEWER|DIFF$|(?i:npm_config_)`)
)

// decides reports whether the value of a variable is run, or decides what runs.
func decides(name string) bool {
	for _, kind := range []*expression{renaming, prompts, loading, optional, commandVariable, counting} {
		if kind.MatchString(name) {
			return true
		}
	}
	return false
}

// set reads the value of a variable.
func (c *calls) set(name, value string) {
	switch {
	case counting.MatchString(name):
		if !digits.MatchString(value) {
			c.fail("%s evaluates what is assigned to it", name)
		}
	case loading.MatchString(name) && value != "/dev/null":
		c.fail("%s decides what other programs run", name)
	case optional.MatchString(name):
		if !static(value) || !harmlessOption.MatchString(value) {
			c.fail("%s decides what other programs run", name)
		}
	case prompts.MatchString(name):
		if !static(value) || strings.ContainsAny(value, "$`") {
			c.fail("%s is expanded by the shell", name)
		}
		c.ran = append(c.ran, base(value))
	case name == "GIT_SEQUENCE_EDITOR":
		c.sequenceEditor(value)
		c.certainLine(value)
	case compilerFlags.MatchString(name) && !runningFlag.MatchString(value):
		c.command(append([]string{"rustc"}, strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == 0x1f })...), input{})
	case cargoAlias.MatchString(name):
		c.command(append([]string{"cargo"}, strings.Fields(value)...), input{})
	case shellSetting.MatchString(name) && static(value):
		c.shellLine(value)
	case commandVariable.MatchString(name):
		c.commandLine(value)
		if value = strings.TrimLeft(value, "|-!"); value != "" && (static(value) || !whollyUnknown(value)) {
			c.certainLine(value)
		}
	case commanding.MatchString(name):
		if static(value) && (runningFlag.MatchString(value) || strings.ContainsAny(value, "$`")) {
			c.fail("%s holds a command that is not known before it runs", name)
		}
		c.commandLine(value)
	}
}

// commandLine reads a text that a program may run.
func (c *calls) commandLine(text string) {
	words := pieces(text)
	if len(words) == 0 || !c.spend(len(text)) {
		return
	}
	c.ran = append(c.ran, base(words[0]))
	c.commands = append(c.commands, command{words, true})
	if static(text) && strings.ContainsAny(text, " \t\n;|&<>$`'\"\\") {
		c.maybe(false, func() { c.nested(text) })
	}
}
