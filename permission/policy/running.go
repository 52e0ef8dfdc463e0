package policy

import (
	"regexp"
	"slices"
	"strings"
)

// runningOption lists the arguments by which an otherwise plain program runs
// something.
type runningOption struct {
	programs string
	argument *expression
	how      runsHow
	only     string // a word that must be present too, such as a command of git
}

// runsHow is how a program runs an argument. Except for [runsAny], an argument
// that is not known makes the command unreadable.
type runsHow int

const (
	runsAny     runsHow = iota // as if the program were in no table
	runsKnown                  // one of the arguments
	runsScript                 // the text behind the option, or the next word, is a script
	runsRest                   // the words behind it are a command
	runsSetting                // the next word is a setting, which may name a program
	runsCode                   // it is in no language that is read here
)

// option finds an option by its letter, even in a cluster, or by a long name,
// which may be abbreviated to at least least letters. The rest of the word is its
// value.
func option(letters string, least int, long ...string) *expression {
	var forms []string
	if letters != "" {
		forms = append(forms, `-[A-Za-z0-9]*[`+letters+`]`)
	}
	for _, name := range long {
		forms = append(forms, `--`+abbreviated(name, least)+`(?:=|$)`)
	}
	return lazily(`(?s)^(?:` + strings.Join(forms, "|") + `)(.*)$`)
}

// abbreviated returns an expression for the beginnings of a name.
func abbreviated(name string, least int) string {
	least = min(least, len(name))
	text := regexp.QuoteMeta(name[:least])
	for _, r := range name[least:] {
		text += `(?:` + regexp.QuoteMeta(string(r))
	}
	return text + strings.Repeat(`)?`, len(name)-least)
}

// word finds one of several words.
func word(words string) *expression {
	return lazily(`^(?:` + strings.Join(strings.Fields(words), "|") + `)()$`)
}

var running = []runningOption{
	{" git ", word("-c"), runsSetting, ""},
	{" git ", word("config"), runsSetting, ""},
	{" git ", lazily(`(?s)^(-x.*|run|foreach|filter-branch|difftool|mergetool|--(exe|conf|upl|rece|ext|op|textconv).*|--(e|ex|u|up|rec)(=.*)?|-O.*|ext::.*|send-email|instaweb)$`), runsKnown, ""},
	{" git ", option("x", 1, "exec"), runsScript, "rebase"},
	{" git ", option("x", 1, "extcmd"), runsScript, "difftool"},
	{" git ", option("O", 2, "open-files-in-pager"), runsScript, "grep"},
	{" git ", option("u", 1, "upload-pack"), runsScript, "clone"},
	{" git ", option("c", 3, "config"), runsSetting, "clone"},
	{" git ", option("", 1, "upload-pack", "receive-pack", "exec"), runsScript, "fetch"},
	{" git ", option("", 1, "upload-pack", "receive-pack", "exec"), runsScript, "pull"},
	{" git ", option("", 3, "upload-pack", "receive-pack", "exec"), runsScript, "push"},
	{" git ", option("", 1, "upload-pack", "exec"), runsScript, "ls-remote"},
	{" git ", option("", 1, "upload-pack", "exec"), runsScript, "fetch-pack"},
	{" git ", option("", 1, "receive-pack", "exec"), runsScript, "send-pack"},
	{" git ", option("", 2, "exec"), runsScript, "archive"},
	{" git ", lazily(`(?s)^--(?:[a-z]+-filter|setup|env-filter)(?:=|$)(.*)$`), runsScript, "filter-branch"},
	{" git ", option("", 4, "to-cmd", "cc-cmd", "header-cmd", "sendmail-cmd", "smtp-server"), runsScript, "send-email"},
	{" git ", lazily(`(?s)^ext::(.*)$`), runsScript, ""},
	{" git ", word("run"), runsRest, "bisect"},
	{" git ", word("foreach"), runsRest, "submodule"},
	{" hg ", option("", 3, "config"), runsCode, ""},
	{" hg ", option("c", 3, "command"), runsScript, "bisect"},
	{" hg ", option("c", 3, "command"), runsCode, "debugshell"},
	{" hg ", lazily(`^(alias|--e[a-z]*|--ssh|--rem).*`), runsKnown, ""},
	{" svn svnadmin ", option("", 4, "editor-cmd", "diff-cmd", "diff3-cmd", "merge-cmd"), runsScript, ""},
	{" svn ", option("", 8, "config-option"), runsCode, ""},
	{" gh ", lazily(`^(extension|ext)$`), runsKnown, ""},
	{" gh ", word("alias config"), runsSetting, ""},
	{" find ", lazily(`^-(exec|ok)`), runsKnown, ""},
	{" fd fdfind ", fdExecution, runsKnown, ""},
	{" tar bsdtar cpio ", option("IF", 2, "to-command", "use-compress-program", "info-script", "new-volume-script", "rsh-command", "rmt-command"), runsScript, ""},
	{" tar bsdtar ", lazily(`(?s)^--` + abbreviated("checkpoint-action", 2) + `(?:=(?:exec=)?|$)(.*)$`), runsScript, ""},
	{" tar bsdtar ", lazily(`(?s)^exec=(.*)$`), runsScript, ""},
	{" tar bsdtar cpio ", lazily(`^[a-zA-Z]*[IF][a-zA-Z]*$`), runsKnown, ""},
	{" rsync ", option("e", 2, "rsh", "rsync-path"), runsScript, ""},
	{" scp sftp ", option("SD", 99), runsScript, ""},
	{" ssh scp sftp ssh-copy-id sshfs ", lazily(`(?is)^-[a-z0-9]*o[ \t]*((?:proxy|local|knownhosts|remote|smartcarddevice|pkcs11|xauth|authorized)\w*[ \t=].*)$`), runsCode, ""},
	{" ssh scp sftp ssh-copy-id sshfs ", lazily(`(?is)^[ \t]*(proxycommand|localcommand|permitlocalcommand|knownhostscommand|remotecommand|pkcs11provider|securitykeyprovider|xauthlocation)[ \t=].*$`), runsCode, ""},
	{" sftp ", lazily(`^-[a-zA-Z0-9]*b`), runsKnown, ""},
	{" ssh-keygen ssh-add ", lazily(`^-[DsSw]`), runsCode, ""},
	{" sort ", option("", 3, "compress-program"), runsScript, ""},
	{" split ", option("", 1, "filter"), runsScript, ""},
	{" zip ", lazily(`(?s)^(?:-[a-zA-Z]*TT|--` + abbreviated("unzip-command", 1) + `(?:=|$))(.*)$`), runsScript, ""},
	{" zip ", lazily(`^(-[a-zA-Z]*T|--u|--t)`), runsKnown, ""},
	{" install ", option("", 6, "strip-program"), runsScript, ""},
	{" dpkg ", option("", 3, "pre-invoke", "post-invoke", "status-logger"), runsScript, ""},
	{" rpm rpmbuild rpmspec ", option("ED", 2, "eval", "define", "pipe", "macros", "rcfile", "load"), runsCode, ""},
	{" man ", option("PH", 2, "pager", "html"), runsScript, ""},
	{" less more ", lazily(`^\+.*[!|]`), runsCode, ""},
	{" hyperfine ", option("psc", 3, "prepare", "setup", "cleanup", "conclude"), runsScript, ""},
	{" entr ", option("s", 99), runsScript, ""},
	{" npm pnpm yarn ", lazily(`(?s)^(?:editor|shell|script-shell|browser|viewer|git|node-options|node-gyp)(?:=|$)(.*)$`), runsScript, "config"},
	{" less more ", lazily(`^\+|^-[a-zA-Z]*k|^--lesskey`), runsKnown, ""},
	{" rg ", option("", 3, "pre", "hostname-bin"), runsScript, ""},
	{" ag ack ", option("", 3, "pager", "ackrc"), runsScript, ""},
	{" go dlv ", lazily(`(?s)^--?(?:exec|toolexec|vettool)(?:=|$)(.*)$`), runsScript, ""},
	{" go ", lazily(`(?s)extld|^(?:GOFLAGS|CC|CXX|AR|FC|PKG_CONFIG|GCCGO)=`), runsKnown, ""},
	{" dlv ", word("exec"), runsRest, ""},
	{" dlv ", lazily(`^--(init|backend)`), runsCode, ""},
	{" gcc g++ cc c++ clang clang++ ", word("-wrapper"), runsSetting, ""},
	{" gcc g++ cc c++ clang clang++ ld ar nm ranlib strip objdump ", lazily(`^-(wrapper|B|f?plugin|-plugin|specs|fuse-ld|Xclang)`), runsKnown, ""},
	{" rustc cargo ", lazily(`(?s)^(?:-C|--codegen=?)?\s*linker=(.*)$`), runsScript, ""},
	{" rustc cargo ", lazily(`(?s)^(?:-[CZ]|--codegen=?)?\s*(?:pre-|post-)?link-args?=(.*)$`), runsSetting, ""},
	{" cargo ", lazily(`(?s)^--config(?:=|$)(.*)$`), runsSetting, ""},
	{" make gmake ", option("E", 1, "eval"), runsCode, ""},
	{" make gmake ", lazily(`(?s)^(?:MAKEFLAGS|MFLAGS|GNUMAKEFLAGS|MAKEFILES|\.SHELLFLAGS)[:+?!]*=.`), runsCode, ""},
	{" make gmake ", lazily(`(?s)^(?:SHELL|MAKE|CC|CXX|CPP|LD|AR|AS|RM|MV|CP|INSTALL|[A-Z_]*(?:CMD|COMMAND|PROG|PROGRAM|EXEC|RUN|RUNNER|WRAPPER|EDITOR|LAUNCHER))[:+?!]*=(.+)$`), runsScript, ""},
	{" make gmake ", lazily(`(?s)^[A-Za-z_.]+(![ \t]*=|[:+?]*=.*\$[({][ \t]*[a-z-]+[ \t])`), runsCode, ""},
	{" make gmake ", lazily(`^[A-Za-z_.]+[:+?!]*=`), runsAny, ""},
	{" cmake ", word("-E"), runsRest, ""},
	{" cmake ctest cpack ", lazily(`^-(P|S|SP|C)$`), runsAny, ""},
	{" cmake ", lazily(`(?s)^(?:-D)?\w*(?:LAUNCHER|COMPILER|LINKER|MAKE_PROGRAM|CROSSCOMPILING_EMULATOR|RULE_\w+|CLANG_TIDY|CPPCHECK|CPPLINT|INCLUDE_WHAT_YOU_USE)(?::\w+)?=(.*)$`), runsScript, ""},
	{" ctest ", lazily(`^--(test-command|build-and-test|build-makeprogram|build-options|overwrite)`), runsRest, ""},
	{" ctest ", lazily(`^--(script|script-new-process|dashboard)|^-[DS]`), runsKnown, ""},
	{" wget curl ", lazily(`^(--use-askpass|--execute|-e$|-K$|--config)`), runsKnown, ""},
	{" nc ncat netcat ", option("ec", 99, "exec", "sh-exec", "lua-exec"), runsScript, ""},
	{" socat ", lazily(`(?is)^(?:exec|system|shell):(.*)$`), runsScript, ""},
	{" tcpdump ", option("z", 99), runsScript, ""},
	{" ip ", word("exec"), runsRest, ""},
	{" ip ", lazily(`^--?b(a(t(c(h)?)?)?)?$`), runsKnown, ""},
	{" npm pnpm yarn ", lazily(`(?s)^(exec|x|dlx|create|init|explore|node|config|set|pkg|set-script|edit)$`), runsAny, ""},
	{" npm pnpm yarn npx ", option("", 3, "script-shell", "shell", "editor", "browser", "viewer", "git", "node-gyp"), runsScript, ""},
	{" npm pnpm yarn npx ", option("", 8, "node-options"), runsCode, ""},
	{" npm pnpm yarn ", word("set-script"), runsSetting, ""},
	{" npm pnpm yarn ", lazily(`(?s)^[^=]*(?:scripts|hooks?|lint-staged)[^=]*[.\]][^=]*=(.*)$`), runsScript, "pkg"},
	{" npm pnpm yarn ", lazily(`(?s)^[^=]*(?:scripts|hooks?|lint-staged)[^=]*=\s*[{\[].*$`), runsCode, "pkg"},
	{" cargo rustup poetry uv bundle mix rake dotnet tox ", lazily(`(?s)^(run|exec|x|tool|watch|cmd|do)$`), runsAny, ""},
	{" cargo ", option("xs", 4, "exec", "shell"), runsScript, "watch"},
	{" mix ", word("cmd"), runsRest, ""},
	{" mix ", lazily(`(?s)^(-e|--eval|--rpc-eval|eval|-e.+)$`), runsCode, ""},
	{" mix elixir ", lazily(`(?s)^(-pr|--require|--erl).*`), runsCode, ""},
	{" rake ", option("eEp", 3, "execute", "execute-print", "execute-continue"), runsCode, ""},
	{" rustup ", word("run"), runsRest, ""},
	{" bundle ", word("exec"), runsRest, ""},
	{" gem bundle ", lazily(`^(open|console|plugin)$`), runsKnown, ""},
	{" gem ", option("e", 3, "editor"), runsScript, "open"},
	{" composer ", word("exec run-script run"), runsAny, ""},
	{" composer ", lazily(`^scripts\..*`), runsCode, ""},
	{" mvn mvnw ", lazily(`(?s)(^|:)exec(-maven-plugin)?[:.]|^-D?exec\.|antrun|-Dmaven\.ext|^-Dgroovy|:groovy|^-Dbeanshell`), runsKnown, ""},
	{" mvn mvnw ", lazily(`(?s)^-Dexec\.executable=(.*)$`), runsScript, ""},
	{" mvn mvnw ", lazily(`^-Dexec\.executable=(?:.*/)?(?:\w*sh|env|perl|python[0-9.]*|ruby|node|php|busybox)$`), runsCode, ""},
	{" mvn mvnw ", lazily(`(?s)^-Dexec\.(?:args|commandlineArgs|arguments)=(.*)$`), runsScript, ""},
	{" gradle gradlew ", lazily(`^(-I|-b|-c|--init-script|--build-file|--settings-file)`), runsKnown, ""},
	{" java javac jar javadoc ", lazily(`(?s)^(?:-J)?-XX:On(?:OutOfMemory)?Error=(.*)$`), runsScript, ""},
	{" java javac jar javadoc ", lazily(`^(?:-J)?-(javaagent|agentlib|agentpath|Xbootclasspath)|^-processor`), runsCode, ""},
	{" dotnet msbuild ", lazily(`(?is)^[-/]+p(?:roperty)?:\w*(?:event|command|exec|tool)\w*=(.*)$`), runsScript, ""},
	{" dotnet ", word("fsi script exec"), runsKnown, ""},
	{" docker podman nerdctl kubectl oc aws gcloud az helm terraform ", lazily(`^(run|exec|debug|ssh|rsh|--)$`), runsAny, ""},
	{" helm ", option("", 6, "post-renderer", "post-renderer-args"), runsScript, ""},
	{" kubectl oc ", option("", 6, "exec-command", "exec-arg", "exec-env"), runsScript, ""},
	{" aws ", word("credential_process"), runsScript, ""},
	{" aws gcloud ", option("", 4, "command"), runsScript, ""},
	{" apt apt-get apt-cache ", lazily(`(?is)^(?:-o|--option=?)?[^=]*(?:invoke|run|proxyauto|proxy-auto|bin::|editor|tools|solver|methods)[^=]*=(.*)$`), runsScript, ""},
	{" apt apt-get yum dnf ", lazily(`^(-o|-c|--option|--config|--setopt)`), runsKnown, ""},
	{" dnf yum ", word("shell"), runsKnown, ""},
	{" pip pip3 brew gem ", lazily(`(?s)^(sh|exec|irb|ruby|--config-settings.*|--global-option.*)$`), runsAny, ""},
	{" brew ", lazily(`(?s)^(-e|-c)$`), runsCode, ""},
	{" pip pip3 mypy ", option("", 3, "python", "python-executable", "editor"), runsScript, ""},
	{" pylint ", option("", 2, "init-hook"), runsCode, ""},
	{" pylint ", lazily(`^--(load-plugins|rcfile)`), runsKnown, ""},
	{" flake8 ", lazily(`^--(append-config|config|enable-ext)`), runsKnown, ""},
	{" pytest py.test ", lazily(`^--(pdb|trace)`), runsKnown, ""},
	{" tox ", option("x", 3, "override"), runsScript, ""},
	{" gpg gpg2 ", option("", 5, "photo-viewer", "exec-path", "agent-program", "dirmngr-program", "keyboxd-program", "tpm2daemon-program"), runsScript, ""},
	{" openssl ", lazily(`^-(engine|provider-path|provider|pre|post)$`), runsKnown, ""},
	{" protoc ", option("", 3, "plugin"), runsScript, ""},
	{" buf ", option("", 4, "template"), runsCode, ""},
	{" cloc ", option("", 4, "extract-with", "config"), runsScript, ""},
	{" emcc em++ ", lazily(`^--(em-config|pre-js|post-js|js-transform)`), runsCode, ""},
	{" yq ", lazily(`^--security-enable`), runsCode, ""},
	{" just ", option("", 3, "command", "shell", "shell-arg", "chooser"), runsScript, ""},
	{" haxe ", option("", 3, "cmd"), runsScript, ""},
	{" latexmk pdflatex xelatex lualatex latex tex ", lazily(`^-+(shell-escape|enable-write18|e$|pdflatex=|latex=|interaction=shell)|\\write18|\\input\|`), runsCode, ""},
	{" pandoc ", option("F", 3, "filter", "lua-filter", "pdf-engine"), runsScript, ""},
	{" fzf sk ", option("", 3, "preview", "bind", "with-shell"), runsCode, ""},
	{" strace ltrace ", lazily(`(?s)^(?:-o)?[|!](.*)$`), runsScript, ""},
	{" code codium cursor ", lazily(`^--(install-extension|extensionDevelopmentPath|extensionTestsPath|load-extension)`), runsKnown, ""},
	{" claude claudectl ", lazily(`^(?:-p|--print|--settings|--mcp-config|--agents|--plugin-dir|--resume|-r|-c|--continue|run|serve|demo|add|add-json|set)`), runsCode, ""},
	{" php ", lazily(`^(-d|-z|-F|-R|-B|-E)`), runsCode, ""},
	{" ansible ", option("a", 3, "args"), runsScript, ""},
	{" nodemon ts-node-dev tsx ", option("x", 3, "exec"), runsScript, ""},
}

// runsArguments reports whether an otherwise plain program runs one of its
// arguments, and reads those that it certainly runs. Unknown parts of those
// make the command unreadable.
func (c *calls) runsArguments(name string, words []string) bool {
	runs, how := false, runsAny
	type found struct {
		option runningOption
		match  []string
		at     int
	}
	var list []found
	for _, r := range running {
		if !listed(r.programs, name) || r.only != "" && !slices.Contains(words, r.only) {
			continue
		}
		if !c.spend(16 * len(words)) {
			return true // the command is denied
		}
		for i, w := range words[1:] {
			if m := r.argument.FindStringSubmatch(w); m != nil {
				runs = true
				list = append(list, found{r, m, i + 2})
				if r.how != runsAny && how != runsKnown {
					how = r.how
				}
			}
		}
	}
	c.knowArguments(name, words, how)
	if name == "split" && runs {
		c.namePieces(words)
	}
	for _, f := range list {
		if c.unread != "" || !c.spend(costOfText/4) {
			break
		}
		c.runs(name, f.option, f.match, words[f.at:])
	}
	return runs
}

// knowArguments makes a command with unknown arguments unreadable.
func (c *calls) knowArguments(name string, words []string, how runsHow) {
	if how == runsAny || c.unread != "" {
		return
	}
	started := len(words) // the command that find starts is read as a command
	if listed(" find fd fdfind ", name) {
		started = slices.IndexFunc(words, execution(name).MatchString)
	}
	for i, w := range words[1:] {
		if !static(w) || how == runsKnown && strings.ContainsAny(w, "$`") && !listed(" find fd fdfind ", name) {
			c.fail("%s runs what is not known before", name)
		}
		for _, piece := range pieces(w) {
			if how == runsKnown && i < started && !strings.HasPrefix(piece, "-") && base(piece) != "" { // others are read
				c.ran = append(c.ran, base(piece))
			}
		}
	}
}

// runs reads what an option certainly runs: m is the option, and rest are the
// words after it.
func (c *calls) runs(name string, r runningOption, m, rest []string) {
	switch r.how {
	case runsScript:
		line := c.certainLine
		if shellSetting.MatchString(m[0]) {
			line = c.shellLine
		}
		if len(m) > 1 && m[1] != "" {
			line(m[1])
		} else if len(rest) > 0 {
			line(rest[0])
		}
	case runsRest:
		if len(rest) == 1 && strings.ContainsAny(rest[0], " \t\n;|&<>$`'\"\\*?[") {
			c.certain(rest[0])
			return
		}
		c.certainWords(rest)
	case runsSetting:
		c.setting(name, m, rest)
	case runsCode:
		c.fail("%s runs code that is not read", name)
	}
}

// certainWords reads words that contain a command, after options and words that
// belong to the program which runs it.
func (c *calls) certainWords(words []string) {
	for i, w := range words {
		if !static(w) {
			c.fail("a command that is not known before it runs")
			return
		}
		if special(base(w)) && w != "." {
			c.command(words[i:], input{})
			return
		}
	}
}

// commandSetting are the settings of git that name a program, or more of its
// arguments.
var commandSetting = lazily(`(?i)(editor|pager|cmd|command|helper|program|fsmonitor|external|textconv|clean|smudge|process|driver|askpass|gitproxy|uploadpack|receivepack|viewer|browser|hook|exec|smtpserver|difffilter|tunnel|httpd|\.path|submodule\..*\.update)$|(?i)packobjectshook|sendmail|^pager\.`)

// gitSettings reads a setting: the next word for -c, and for config a name and a
// value.
func (c *calls) gitSettings(m, rest []string) {
	if m[0] != "config" {
		if len(m) > 1 && m[1] != "" {
			rest = []string{m[1]}
		}
		if len(rest) > 0 {
			key, value, _ := strings.Cut(rest[0], "=")
			c.gitSetting(key, value)
		}
		return
	}
	names := operands(append([]string{""}, rest...))
	for i, key := range names {
		if strings.Contains(key, ".") && i+1 < len(names) {
			c.gitSetting(key, names[i+1])
			return
		}
	}
}

func (c *calls) gitSetting(key, value string) {
	if strings.Contains(key+"="+value, "ext::") || strings.EqualFold(key, "protocol.ext.allow") {
		c.fail("git runs a remote of its own kind, ext::")
	}
	if value == "" || !commandSetting.MatchString(key) {
		return
	}
	if strings.EqualFold(key, "sequence.editor") {
		c.sequenceEditor(value)
	}
	c.certainLine(strings.TrimPrefix(value, "!"))
}

// certainLine reads a text that a program certainly runs, with arguments of its
// own after it. It may be a value with a name in front.
func (c *calls) certainLine(text string) {
	if name, value, ok := strings.Cut(text, "="); ok && settingName.MatchString(name) {
		c.certainLine(value)
		return
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return
	}
	if !plainLine.MatchString(text) || runsCodeOf(words) || listed(otherShells, base(words[0])) || len(words) > 1 && special(base(words[1])) {
		c.certain(text)
		return
	}
	c.commands = append(c.commands, command{words, true})
	for _, w := range words {
		if !strings.HasPrefix(w, "-") {
			c.ran = append(c.ran, base(w))
		}
	}
	c.scripts = true
	if takesOver(words) {
		c.fail("%s runs what it is given", words[0])
	}
}

var (
	settingName = lazily(`^[A-Za-z][\w.:-]*$`)
	// plainLine are words that leave nothing for a shell to expand.
	plainLine = lazily(`^[\w./:@=+-]+( +[\w./:@=+,-]+)*$`)
)

// sequenceEditor reads the editor of a list of commits, which may put commands
// into it.
func (c *calls) sequenceEditor(value string) {
	if !todoEditor.MatchString(value) {
		c.fail("an editor that may put commands into the list of a rebase")
	}
}

var todoEditor = lazily(`^(:|[\w./-]+( --?[\w-]+)*|sed -i[\w.]*( -e| -E)* ['"]?[0-9,$]*s/\^?\(?pick\)?/\w+/g?['"]?)$`)
