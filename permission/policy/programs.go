package policy

import (
	"strings"
)

// These tables describe programs. A program that is in none of them may run its
// arguments: a denied command among or inside them counts.

// isPlain reports whether a program does not run its arguments, apart from
// those that [running] lists.
func isPlain(name string) bool {
	return listed(plainPrograms, name) || name != "" && strings.Contains(plainPrograms, " "+name+"\n")
}

// listed reports whether a list has a name. Its names have a space on both sides.
func listed(list, name string) bool {
	if name == "" || strings.Contains(name, " ") {
		return false
	}
	for end := 0; ; { // without a string of its own, because a rule asks thousands of times
		at := strings.Index(list[end:], name)
		if at < 0 {
			return false
		}
		begin := end + at
		end = begin + len(name)
		if begin > 0 && list[begin-1] == ' ' && end < len(list) && list[end] == ' ' {
			return true
		}
	}
}

const plainPrograms = ` : true false echo cd pushd popd dirs pwd set umask ulimit times bg fg disown exit return break continue shift logout unalias caller type hash
 ls dir vdir cat head tail tac nl od xxd hexdump base64 base32 strings file stat wc cut paste tr uniq comm join fold fmt pr column rev expand unexpand tsort shuf seq factor numfmt sort split csplit
 sum cksum md5sum md5 sha1sum sha224sum sha256sum sha384sum sha512sum shasum b2sum realpath readlink basename dirname pathchk yes sleep date cal whoami id groups users who w uname hostname arch nproc
 uptime free df du lsblk lscpu lsof ps pgrep pkill kill killall touch mkdir rmdir rm mv cp ln install chmod chown chgrp truncate dd tee mktemp mkfifo sync link unlink shred tree which whereis locate man info
 printenv diff cmp diff3 patch gzip gunzip zcat bzip2 bunzip2 xz unxz zstd unzip zip zipinfo 7z ar ranlib nm objdump readelf ldd size strip tar bsdtar cpio rsync scp sftp curl wget http ping dig nslookup host ip ss
 netstat ifconfig traceroute nc openssl gpg ssh-keygen ssh-add find fd fdfind grep egrep fgrep zgrep rg ag ack jq yq xmllint less more bc git hg svn gh go gofmt goimports golangci-lint staticcheck govulncheck dlv
 gcc g++ cc c++ clang clang++ ld as cmake ctest ninja make gmake cargo rustc rustup rustfmt npm pnpm yarn tsc eslint prettier jest vitest webpack vite pip pip3 pytest tox black ruff mypy flake8 isort pylint poetry uv
 mvn gradle javac jar dotnet swiftc mix rake gem bundle composer terraform helm kubectl oc docker podman aws gcloud az brew apt apt-get apt-cache dpkg yum dnf apk rpm systemctl journalctl
 shellcheck shfmt hadolint yamllint markdownlint protoc buf sqlc wasm-pack emcc tput clear reset stty tty getconf getent locale cloc tokei scc loc `

// starter is a program or a word that starts the command after it.
type starter struct {
	values string // letters of its options that take the next word
	own    int    // its own words before the command
	shell  bool   // on its own it starts a shell, and its arguments are a script
	script bool   // its option -c takes a script
}

var starters = map[string]starter{
	"env": {values: "uCSP"}, "sudo": {values: "ugphCTRDrtU", shell: true}, "doas": {values: "uCa", shell: true}, "nice": {values: "n"}, "ionice": {values: "cnpPu"},
	"chrt": {own: 1}, "taskset": {own: 1}, "stdbuf": {values: "ioe"}, "setsid": {}, "nohup": {}, "unbuffer": {}, "time": {values: "fo"}, "timeout": {own: 1, values: "ks"},
	"gtimeout": {own: 1, values: "ks"}, "xargs": {values: "aEIJLnPRsd"}, "gxargs": {values: "aEIJLnPRsd"}, "watch": {values: "nq", shell: true}, "flock": {own: 1, values: "wE", shell: true, script: true},
	"strace": {values: "aeEIoOpPsSuUXb"}, "ltrace": {values: "aeEFnopsSu"}, "chroot": {own: 1, shell: true}, "unshare": {shell: true}, "nsenter": {values: "tSG", shell: true},
	"setarch": {own: 1}, "linux32": {}, "linux64": {}, "fakeroot": {values: "lisb", shell: true}, "systemd-run": {values: "pHMuE"}, "su": {values: "cgGs", shell: true, script: true},
	"runuser": {values: "cgGsu", shell: true, script: true}, "pkexec": {}, "setpriv": {}, "prlimit": {}, "numactl": {values: "mNCip"}, "busybox": {}, "toybox": {}, "command": {}, "builtin": {},
	"exec": {values: "a"}, "jobs": {}, "service": {}, "noglob": {}, "nocorrect": {}, "-": {}, "--": {}, "repeat": {own: 1}, "emulate": {own: 1, values: "c", shell: true}, "ssh": {own: 1, values: "bcDEeFIiJLlmOopQRSWw", shell: true},
	"script": {values: "cIOBTmEt", shell: true, script: true}, "parallel": {values: "jNn", shell: true}, "dbus-run-session": {}, "xvfb-run": {values: "en"}, "caffeinate": {values: "tw"}, "proxychains": {},
	"proxychains4": {}, "torsocks": {}, "gosu": {own: 1}, "su-exec": {own: 1}, "tini": {}, "dumb-init": {}, "chpst": {values: "uUb/"}, "entr": {}, "ccache": {}, "catchsegv": {}, "setlock": {own: 1},
	"firejail": {}, "bwrap": {}, "proot": {}, "cgexec": {values: "g"}, "perf": {}, "hyperfine": {shell: true}, "capsh": {shell: true, script: true}, "eatmydata": {}, "faketime": {own: 1}, "valgrind": {}, "rlwrap": {}, "cpulimit": {values: "lpe"}, "daemonize": {}, "runcon": {values: "tulrc"}, "rr": {},
	"heaptrack": {}, "tsp": {}, "sshpass": {values: "pfd"}, "winpty": {}, "dotenv": {}, "cross-env": {}, "coreutils": {}, "start-stop-daemon": {shell: true}, "choom": {values: "np"}, "uclampset": {}, "pyenv": {own: 1}, "rbenv": {own: 1}, "nvm": {own: 1}, "asdf": {own: 1}, "mise": {own: 1}, "direnv": {own: 2}, "conda": {own: 1}, "at": {shell: true}, "batch": {shell: true}, "newgrp": {shell: true}, "sg": {own: 1, shell: true, script: true},
}

// Shells whose scripts are read, and others whose language is not known here.
const (
	shells      = " sh bash rbash zsh rzsh dash ash ksh rksh ksh93 mksh lksh pdksh oksh posh yash hush brush "
	otherShells = " csh tcsh fish nu xonsh elvish rc es scsh pwsh powershell cmd wsl ion murex osh ysh "
)

// language is an interpreter of another language than the shell's.
type language struct {
	names string
	code  *expression // the option that code follows, or is joined to
	// options lists the options that do not affect which command runs. An
	// unknown option makes the rest unreadable. nil: all are harmless.
	options *expression
	values  string // letters of options that take the next word
	file    string // letters of options that take a script
	first   bool   // the first argument is code
	// starts reports whether code may start a program; nil: all code may.
	starts func(code string) bool
}

var languages = []language{
	{names: " awk gawk mawk nawk ", code: lazily(`(?s)^(?:-e|--source=?)(.*)$`), options: lazily(`^(-[Fv].*|-[fE]|--(posix|traditional|re-interval|csv|bignum))$`),
		values: "Fv", file: "fEi", first: true, starts: awkStarts},
	{names: " sed gsed ", code: lazily(`(?s)^(?:-[nErsuz]*e|--expression=?)(.*)$`),
		options: lazily(`^(-[nErsuz]+|-[nErsuz]*[fi]|-i\S*|-l|--(quiet|silent|in-place|in-place=\S*|regexp-extended|null-data|separate|unbuffered|posix|sandbox|debug|follow-symlinks))$`),
		values:  "lN", file: "f", first: true, starts: sedStarts},
	{names: " perl ", code: lazily(`(?s)^-[aclnpswW0-9]*[eE](.*)$`), options: lazily(`^(-[aclnpswW0-9]+|-[acnpl0-9]*i(\.\w+)?|-F(/[\w:;,|=.\\+-]*/|[\w:;,|=.\\+-]*)|-M[-A-Za-z0-9_:]*)$`), starts: perlStarts},
	{names: " python python2 python3 pypy pypy3 ", code: lazily(`(?s)^-[bBdEIOPqsSuv]*c(.*)$`), options: lazily(`^(-[bBdEIOPqsSuv]+|-[WX].*|-m)$`), values: "WXm", starts: pythonStarts},
	{names: " node nodejs ", code: lazily(`(?s)^(?:-p?e|-p|--eval=?|--print=?)(.*)$`),
		options: lazily(`^(-c|--(check|test|watch|trace-warnings|trace-deprecation|no-warnings|no-deprecation|enable-source-maps|max-old-space-size=\d+|stack-size=\d+|input-type=\w+|test-(name-pattern|reporter|only|concurrency|timeout)(=[^$]*)?|experimental-(vm-modules|strip-types|test-coverage)|harmony\S*|inspect\S*|prof|cpu-prof))$`), starts: nodeStarts},
	{names: " ruby ", code: lazily(`(?s)^(?:-e)(.*)$`), options: lazily(`^(-[cvwW][0-2]?|-r(json|yaml|date|time|set|securerandom|digest|pp)|--version)$`), starts: rubyStarts},
	{names: " irb php lua luajit tclsh wish expect Rscript R julia guile ghc ghci runghc osascript gnuplot swift scala groovy elixir iex erl sbcl clisp racket octave matlab raku deno bun jshell ts-node tsx m4 dc clojure clj bb nim crystal kotlin kotlinc amm swipl gforth csi gsi janet fennel hy coconut ocaml pry ipython ipython3 bpython ptpython jython cling maxima sage bpftrace stap dtrace mongosh mongo duckdb lftp rpmspec gs wolframscript nix-instantiate iced coffee ",
		code: lazily(`(?s)^(?:-[a-zA-Z0-9]*[eErcx]|-g|--?eval=?|--expr(?:ession)?=?|-expression|--run=?|--python-expr|eval)()(?:.*)$`)},
}

func languageOf(name string) (lang language, ok bool) {
	for _, lang := range languages {
		if listed(lang.names, name) {
			return lang, true
		}
	}
	if versioned.MatchString(name) {
		return languageOf(strings.TrimRight(name, "0123456789."))
	}
	return language{}, false
}

var versioned = lazily(`^(python|perl|ruby|lua|php|node|tclsh)[0-9.]+$`)

// evaluators are commands of the shell that run or evaluate their arguments,
// each in its own way.
const evaluators = " eval source . trap alias hash enable complete compgen compopt bind fc mapfile readarray printf read test [ getopts unset let wait set shopt history declare typeset local export readonly print vared zle zmodload autoload functions sched zargs crontab "

// special reports whether a word has a meaning of its own at the beginning of a
// command.
func special(name string) bool {
	_, starts := starters[name]
	_, interprets := languageOf(name)
	return starts || interprets || listed(shells, name) || listed(otherShells, name) || listed(evaluators, name)
}

// Programs that change the files they are given; that show their contents; whose
// operands are all files that they change; that make a file out of another one or
// of their input; and that make one without reading any.
const (
	writers  = " touch mkdir rm rmdir unlink shred mv cp ln install rsync tee truncate dd split csplit sed perl ed ex vi vim nano emacs patch sort uniq xxd chmod chown chgrp tar bsdtar cpio ar zip unzip gzip gunzip bzip2 xz zstd git curl wget scp sponge mktemp mkfifo mknod link rename prettier gofmt goimports black jq yq flock script sqlite3 "
	readers  = " cat head tail tac nl od xxd hexdump base64 base32 strings less more cp mv ln link scp rsync dd install source . sort uniq cut paste rev fold fmt pr expand unexpand join column look tsort shuf diff diff3 sdiff cmp comm tee tar bsdtar zip gzip bzip2 xz zstd zcat bzcat xzcat split csplit ar "
	changers = " rm rmdir unlink shred touch truncate chmod chown chgrp mkdir mkfifo mknod tee dd gzip bzip2 xz zstd "
	creators = " mkdir touch mkfifo "
	makers   = " split csplit cp mv ln install tee dd link rsync scp sponge mkfifo curl wget patch rename sort uniq xxd openssl strip objcopy patchelf iconv gunzip unxz bunzip2 unzip ar "
)
