package policy_test

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// The grammar of spellings: many ways to write "rm victim" for bash. A name for
// the program, a prefix, and a place of the command are combined, each of them
// once on its own and many of them at random.

// programNames are spellings of the name, in the place of a command.
func programNames() []string {
	return []string{
		"rm", `\rm`, `r\m`, `'rm'`, `"rm"`, `r''m`, `r""m`, `"r"'m'`, `$'rm'`, `$'\x72m'`, `$'\162\155'`, `$'r\u006d'`, `$"rm"`, `r$'m'`,
		"/bin/rm", "/usr/bin/rm", "//bin//rm", "/bin/../bin/rm", "/bin/./rm", "/proc/self/root/bin/rm", "/bin/r?", "/bin/[r]m", "/b*n/rm", "/bin/r[!a]", "/bin/r[[:alpha:]]", "/usr/*/rm",
		"r${z}m", "${z}rm", "$z rm", "r$z''m", "${z:-rm}", "${z-r}m", "${z:=rm}", "r${z+x}m", "r$@m", "r$*m", `r"$@"m`, "$(echo rm)", "`echo rm`", "$(printf %s r)m", "r$(:)m", "r`:`m", "r${1}m",
		"{rm,-f}", "r{m,}", "{,rm}", "{r,}m", "r\\\nm", "\\\nrm", "r\\\n\\\nm", "~/../../../../../../../bin/rm", "$(command -v rm)", "$(type -p rm)", "${PATH%%:*}/rm", "${BASH%bash}rm",
		`"${z:-rm}"`, `"$(echo rm)"`, `${z:-"r"}m`, `"r""m"`, `''rm`, `rm''`, `$'\cA'$z`, `r$'\x6d'`, `${IFS:0:0}rm`, `${z:-$'rm'}`, `"r"\m`, `'r'\m`,
	}
}

// programPrefixes stand before the name.
func programPrefixes() []string {
	return []string{
		"", "A=1 ", "A=1 B='x y' ", "A=$(:) ", "A=(1 2) B=3; ", ">/dev/null ", "2>&1 ", "<other ", "<<<x ", "&>/dev/null ", ">|out ", "3<&0 ", "{fd}>out ", "! ", "time ", "time -p ", "! time ", "time ! ",
		"env ", "env A=1 ", "env -u A ", "env -i PATH=/bin:/usr/bin ", "env -- ", "/usr/bin/env ", "nice ", "nice -n 5 ", "nice -5 ", "nohup ", "timeout 5 ", "timeout -k 1 5 ", "timeout -s KILL 5s ", "timeout --preserve-status 5 ",
		"command ", "command -p ", "command -- ", "builtin command ", "command command ", "exec ", "exec -a x ", "exec -c ", "(exec) ; ", "setsid -w ", "stdbuf -o0 ", "stdbuf --output=L ", "ionice -c 3 ", "chrt -o 0 ", "taskset 1 ",
		"setarch -R ", "env env nice ", "nice env timeout 5 ", "\\env ", "'env' ", "/usr/bin/nice -n 1 ", "\t ", "\\\n", "A=1 \\\n", "A='#' ", "A=\"'\" ", "env 'A=b c' ", "env -C . ", "nohup nice env ", "unshare ", "true\n", "true;", "xargs -a /dev/null ",
	}
}

// place puts a command somewhere.
type place struct {
	name string
	put  func(c string) string
}

func quoteSingle(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func quoteDouble(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s) + `"`
}

func quoteBack(s string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`", "$", `\$`).Replace(s) + "`"
}

// form makes a place of a pattern: C is the command itself, S and D are the
// command as a text in single and in double quotes, B is it in backquotes, and
// J the text in single quotes inside of another text in double quotes.
func form(pattern string) place {
	return place{pattern, func(c string) string {
		return strings.NewReplacer("«C»", c, "«S»", quoteSingle(c), "«D»", quoteDouble(c), "«B»", quoteBack(c), "«J»", quoteDouble(quoteSingle(c)), "«SS»", quoteSingle("eval "+quoteSingle(c))).Replace(pattern)
	}}
}

func syntaxPlaces() []string {
	return []string{
		"«C»", "true && «C»", "false || «C»", "true; «C»", "true & «C»; wait", "true | «C»", "«C» | cat", "«C» |& cat", "«C» &\nwait", "( «C» )", "{ «C»; }", "( ( «C» ) )", "{ { «C»; } }",
		"if «C»; then :; fi", "if :; then «C»; fi", "if false; then :; else «C»; fi", "if false; then :; elif «C»; then :; fi", "while «C»; do break; done", "until false; do «C»; break; done",
		"for i in 1; do «C»; done", "for ((i=0;i<1;i++)); do «C»; done", "for i in 1; { «C»; }", "select i in 1; do «C»; break; done <<< 1", "case a in a) «C»;; esac", "case a in (a) «C»;; esac", "case a in b) :;; *) «C»;& esac",
		"case $(«C») in *) ;; esac", "case a in $(«C»)) ;; *) ;; esac", "echo $(«C»)", "echo \"$(«C»)\"", "echo «B»", "echo \"«B»\"", "echo ${z:-$(«C»)}", "echo \"${z:-$(«C»)}\"", "echo ${z:=«B»}", "x=$(«C»)", "x=«B»", "x=($(«C»))",
		"x[$(«C» >&2)0]=1", "echo $(( $(«C») 0 ))", "(( $(«C») 1 ))", "echo $[ $(«C») 1 ]", "echo ${x[$(«C»)0]}", "x=abc; echo ${x:$(«C»)0}", "x=a; echo ${x/a/$(«C»)}", "x=a; echo ${x#$(«C»)}", "x=a; echo ${x^^$(«C»)}", "echo <(«C») >/dev/null; sleep 0.1", "cat <(«C»)",
		"echo x > >(«C»); sleep 0.1", "[[ $(«C») ]]", "[[ a =~ $(«C») ]]", "[[ -n $(«C») || 1 ]]", "[ -n \"$(«C»)\" ]", "f() { «C»; }; f", "function f { «C»; }; f", "f() ( «C» ); f", "f() if :; then «C»; fi; f", "coproc { «C»; }; wait", "coproc «C»\nwait",
		"cat <<E\n$(«C»)\nE", "cat <<E\n«B»\nE", "cat <<E\n${z:-$(«C»)}\nE", "cat <<-E\n\t$(«C»)\n\tE", "cat <<'E'\nit's\nE\n«C»\ncat <<'E'\nit's\nE", "cat <<E\n'\nE\n«C» #'", "cat <<\"E\"\n$(\nE\n«C»", "cat <<\\E\n`\nE\n«C»",
		"cat <<E && «C»\nx\nE", "cat <<A <<B; «C»\n1\nA\n2\nB", "cat <<E\n\\\nE\n«C»\nE\n«C»", "cat <<'a b'\nx\na b\n«C»", "cat <<E\nx\nE\n«C»", ": <<E\n'\nE\n«C»\n: <<E\n'\nE", "cat << E # <<F\nx\nE\n«C»\n", "echo $(cat <<E\n)\nE\n«C»)",
		"echo a # b\n«C»", "echo a # it's\n«C» # isn't", "#'\n«C» #'", "echo a # \\\n«C»", "# a \\\n«C»", "echo a;#\n«C»", "echo a#'b\n'; «C»", "echo \\#; «C»", "echo ${z#'}'}; «C»", "echo ${z:-'}'}; «C»", "echo \"${z:-'}\"; «C» #'}\"", "echo ${z:-#}; «C»",
		"echo ${#z}; «C»", "echo $((2#1)); «C»", "echo ${z//#/x}; «C»", "echo ${z%%\\}}; «C»", "echo ${z+\"}\"}; «C»", "echo '\\'; «C»", "echo \"\\\\\"; «C»", "echo $'\\''; «C» #'", "echo \"`echo \\\"a\\\"`\"; «C»", "echo `echo '\\\\'`; «C»", "echo `echo \\`«C»\\``",
		"echo $(case a in a) «C»;; esac)", "echo $(case a in (a) «C»;; esac)", "echo $(# )\n«C»)", "echo $( («C») )", "echo $(\n«C»\n)", "echo \"$(echo \"$(«C»)\")\"", "echo \"$(echo '\"'; «C»)\"", "echo \"${z:-\"$(«C»)\"}\"", "echo ${z:-`«C»`}", "echo {a,$(«C»)}",
		"! «C»", "! { «C»; }", "time { «C»; }", "time ( «C» )", "{ «C»; } > out", "( «C» ) < other", "«C» > out", "> out; «C»", "echo >out; «C»", "echo \\\n; «C»", "true &&\n«C»", "true &\\\n& «C»", "echo a |\n«C»", "true ;\\\n«C»", "echo \"$\\\n(«C»)\"", "if\ntrue\nthen\n«C»\nfi",
		"let 'x=1'; «C»", "echo ~ ; «C»", "[[ a == b ]] || «C»", "((0)) || «C»", "declare x=$(«C»)", "export x=«B»", "local x 2>/dev/null; «C»", "readonly x=$(«C»)", "a=1 b=$(«C») true", "echo \"a\nb\"; «C»", "echo 'a\n#'; «C»", "x() { :; }; «C»", "«C»;", "  «C»  ",
	}
}

// runtimePlaces run a command that is data to the parser.
func runtimePlaces() []string {
	return []string{
		"eval «S»", "eval «D»", "eval «J»", "eval eval «S»", "eval «SS»", "builtin eval «S»", "command eval «S»", "eval -- «S»", "eval \"$(echo «S»)\"", "eval $(printf %s «S»)", "x=«S»; eval \"$x\"", "x=«S»; eval $x", "x=«S»; $x", "x=(«C»); \"${x[@]}\"",
		"set -- «C»; \"$@\"", "set -- «C»; $@", "set -- «C»; $*", "f() { \"$@\"; }; f «C»", "f() { $1 $2; }; f «C»", "f() { eval \"$1\"; }; f «S»", "x=rm; $x victim", "x=r; y=m; $x$y victim", "x=victim; y=rm; $y $x", "x=mr; ${x:1:1}${x:0:1} victim", "x=RM; ${x,,} victim", "x=armb; y=${x#a}; ${y%b} victim",
		"x=rm; ${!x} victim; y=x; ${!y} victim", "declare -n r=q; q=rm; $r victim", "read x <<< rm; $x victim", "read -r x y <<< 'rm victim'; $x $y", "mapfile -t x <<< rm; ${x[0]} victim", "printf -v x rm; $x victim", "for x in rm; do $x victim; done", "while read -r l; do $l; done <<< 'rm victim'", "IFS=_; x=rm_victim; $x",
		"bash -c «S»", "bash -c «D»", "sh -c «S»", "dash -c «S»", "/bin/bash -c «S»", "bash -lc «S»", "bash -ce «S»", "bash -ec «S»", "bash -c -- «S»", "bash -e -c «S»", "bash -o pipefail -c «S»", "bash +x -c «S»", "bash --norc -c «S»", "bash --posix -c «S»", "rbash -c 'rm victim'", "env bash -c «S»", "exec bash -c «S»", "command bash -c «S»",
		"bash -c 'eval \"$1\"' _ «S»", "bash -c '\"$@\"' _ «C»", "bash -c '$0' «S»", "bash -c 'bash -c \"$0\"' «S»", "nice sh -c «S»", "setsid -w sh -c «S»", "timeout 5 sh -c «S»", "env -S 'rm victim'", "env -S'rm victim'", "env -iS 'rm victim'", "env --split-string='rm victim'", "env -S 'sh -c «S»'", "env -vS 'rm victim'", "env -S 'r\\cm'; env -S 'rm\\_victim'",
		"bash <<< «S»", "bash <<E\n«C»\nE", "bash <<'E'\n«C»\nE", "bash -s <<E\n«C»\nE", "bash -s -- x <<< «S»", "bash - <<< «S»", "bash /dev/stdin <<< «S»", "bash /dev/fd/0 <<< «S»", "bash /proc/self/fd/0 <<< «S»", "sh <<E\nrm victim\nE", "bash <(echo «S»)", "bash < <(echo «S»)", "bash 3<<<«S» /dev/fd/3", "exec 3<<<«S»; bash <&3", "exec 3<<<«S»; . /dev/fd/3",
		"echo «S» | bash", "echo «S» | sh -s", "echo «S» | bash -", "printf %s «S» | bash /dev/stdin", "echo «S» | cat | bash", "echo «S» | tee /dev/null | sh", "echo «S» | { bash; }", "echo «S» | (sh)", "echo «S» | env bash", "echo «S» | nice sh", "echo «S» | xargs -0 bash -c", "echo «S» | while read -r l; do eval \"$l\"; done", "cat <<'E' | bash\n«C»\nE", "bash < <(cat <<'E'\n«C»\nE\n)",
		"echo «S» > >(bash); sleep 0.2", "echo «S» | tee >(bash) > /dev/null; sleep 0.2", "coproc bash; echo «S» >&${COPROC[1]}; exec {COPROC[1]}>&-; wait", "source <(echo «S»)", ". <(echo «S»)", ". /dev/stdin <<< «S»", "source /dev/stdin <<E\n«C»\nE", "builtin source <(echo «S»)", "command . <(echo «S»)",
		"echo «S» > s.sh; bash s.sh", "echo «S» > s.sh; . ./s.sh", "echo «S» > s.sh; chmod +x s.sh; ./s.sh", "printf %s «S» > s; bash ./s", "cat > s <<'E'\n«C»\nE\nbash s", "tee s <<< «S» > /dev/null; sh s", "echo «S» >> s; source s", "cp /bin/rm q; ./q victim", "ln -s /bin/rm q; ./q victim", "ln -s /bin/rm ls; PATH=.:$PATH; ls victim", "dd if=/bin/rm of=q status=none; chmod +x q; ./q victim",
		"cat /bin/rm > q; chmod +x q; ./q victim", "install /bin/rm q; ./q victim", "echo «S» > s.sh; BASH_ENV=s.sh bash -c :", "mkfifo p; bash p & echo «S» > p; wait", "trap «S» EXIT", "trap -- «S» 0", "trap «S» DEBUG; :", "trap «S» ERR; false", "set -T; trap «S» RETURN; f() { :; }; f", "trap «S» USR1; kill -USR1 $$; :", "x=«S»; trap \"$x\" EXIT",
		"shopt -s expand_aliases\nalias q=«S»\nq", "shopt -s expand_aliases\nalias q=rm\nq victim", "shopt -s expand_aliases\nalias rrr='r''m '\nrrr victim", "shopt -s expand_aliases; BASH_ALIASES[q]=rm\nq victim", "hash -p /bin/rm q; q victim", "BASH_CMDS[q]=/bin/rm; q victim", "command_not_found_handle() { «C»; }; nonesuch", "echo() { «C»; }; echo a",
		"PS4='$(rm victim)'; set -x; :", "PS4='`rm victim`' bash -xc :", "x='$(rm victim)'; echo \"${x@P}\"", "x='`rm victim`'; : \"${x@P}\"", "BASH_ENV=<(echo «S») bash -c :", "BASH_ENV='$(rm victim)' bash -c :", "PROMPT_COMMAND='rm victim' bash -i <<< : 2>/dev/null", "f() { «C»; }; export -f f; bash -c f", "env 'BASH_FUNC_f%%=() { rm victim; }' bash -c f",
		"printf -v 'a[$(rm victim)]' x", "printf -v 'a[`rm victim`]' x", "x='a[$(rm victim)]'; printf -v \"$x\" y", "printf '-va[$(rm victim)]' y", "test -v 'a[$(rm victim)]'", "[ -v 'a[$(rm victim)]' ]", "[[ -v 'a[$(rm victim)]' ]]", "x='a[$(rm victim)]'; [[ -v $x ]]", "x='a[$(rm victim)]'; test -v \"$x\"", "x='-v a[$(rm${IFS}victim)]'; [ $x ]", "[ ! -v 'a[$(rm victim)]' ]",
		"read 'a[$(rm victim)]' <<< x", "x='a[$(rm victim)]'; read \"$x\" <<< y", "read -r -a b 'a[$(rm victim)]' <<< y", "a=(1); unset 'a[$(rm victim)]'", "declare 'a[$(rm victim)]=1'", "export 'a[$(rm victim)]=1' 2>/dev/null", "x='a[$(rm${IFS}victim)]=1'; declare $x", "typeset -a 'a[$(rm victim)]=1'", "f() { local 'a[$(rm victim)]=1'; }; f", "declare -i x='a[$(rm victim)]'", "declare -i x; x='a[$(rm victim)]'",
		"let 'a[$(rm victim)]'", "let x='a[$(rm victim)]'", "builtin let 'a[$(rm victim)]'", "x='a[$(rm victim)]'; echo $((x))", "x='a[$(rm victim)]'; ((x))", "x='a[$(rm victim)]'; let x+=1", "x='a[$(rm victim)]'; y=x; echo $((y))", "x='a[$(rm victim)]'; [[ x -eq 1 ]]", "x='a[$(rm victim)]'; [[ $x -gt 1 ]]", "[[ 'a[$(rm victim)]' -eq 1 ]]", "x='a[$(rm victim)]'; echo ${b[x]}", "x='a[$(rm victim)]'; b[x]=1", "x='a[$(rm victim)]'; y=abc; echo ${y:x}",
		"x='a[$(rm victim)]'; for ((i=x;0;)); do :; done", "x='a[$('; x+='rm victim)]'; echo $((x))", "f() { echo $(($1)); }; f 'a[$(rm victim)]'", "read x <<< 'a[$(rm victim)]'; echo $((x))", "x=$(echo 'a[$(rm victim)]'); echo $((x))", "for x in 'a[$(rm victim)]'; do echo $((x)); done", "echo $(( $(echo 'a[$(rm victim)]') ))", "x='a[$(rm victim)]'; echo ${!x}", "y='a[$(rm victim)]'; x=y; declare -n z=$y; echo $z", "x=y y='a[$(rm victim)]'; echo $((x))",
		"mapfile -C 'rm victim;:' -c 1 a <<< x", "readarray -c1 -C 'rm victim #' a <<< x", "mapfile -C q -c 1 a <<< x; q() { rm victim; }; mapfile -C q -c 1 a <<< x", "compgen -C 'rm victim' x", "compgen -W '$(rm victim)'", "compgen -F q x 2>/dev/null; complete -C 'rm victim' x; compgen -C 'rm victim'", "getopts a 'x[$(rm victim)]' -a 2>/dev/null; wait -p 'x[$(rm victim)]'", "set -o history; set -H; fc -s rm=rm 2>/dev/null; rm victim",
		"python3 -c 'import os; os.system(\"rm victim\")'", "python3 -c 'import os; os.system(\"r\"+\"m victim\")'", "python3 -c '__import__(\"os\").system(\"rm victim\")'", "python3 <<< 'import subprocess; subprocess.run([\"rm\",\"victim\"])'", "python3 - <<'E'\nimport os\nos.execvp(\"rm\", [\"rm\", \"victim\"])\nE", "echo 'import os; os.system(\"rm victim\")' | python3", "python3 <(echo 'import os; os.system(\"rm victim\")')", "python3 -c 'exec(\"imp\"+\"ort os; os.system(\\\"rm victim\\\")\")'",
		"perl -e 'system(\"rm victim\")'", "perl -e 'exec qw(rm victim)'", "perl -e '`rm victim`'", "perl -ne 'system q(rm victim)' other", "perl -pe 's/.*/system \"rm victim\"/e' other", "perl -e 'system \"r\".\"m victim\"'", "perl -ne print 'rm victim|'", "perl -M'strict;system(q(rm victim))' -e 1", "echo 'system \"rm victim\"' | perl", "perl <<< 'system \"rm victim\"'", "perl -pe 's/x/@{[system(q(rm victim))]}/' other",
		"awk 'BEGIN{system(\"rm victim\")}'", "awk 'BEGIN{print 1 | \"rm victim\"}'", "awk 'BEGIN{\"rm victim\" | getline}'", "awk 'BEGIN{c=\"rm victim\"; c | getline x}'", "awk 'BEGIN{c=\"rm victim\"; print 1/1|c}'", "awk -v 'c=rm victim' 'BEGIN{system(c)}'", "echo 'BEGIN{system(\"rm victim\")}' > a; awk -f a", "awk -f <(echo 'BEGIN{system(\"rm victim\")}')", "sed '1e rm victim' other", "sed -n '1e rm victim' other", "sed 's/.*/rm victim/e' other", "sed -e 's/x/rm victim/;s/.*/rm victim/e' other", "sed -n 's|.*|rm victim|ep' other", "sed '$!d;e rm victim' other",
		"node -e 'require(\"child_process\").execSync(\"rm victim\")'", "node -e 'process.binding; require(\"child_\"+\"process\").execSync(\"rm victim\")'", "echo 'require(\"child_process\").execSync(\"rm victim\")' | node", "node -p 'process.mainModule.require(\"child_process\").execSync(\"rm victim\")'",
		"find . -maxdepth 0 -exec rm victim ';'", "find . -name victim -exec rm {} +", "find . -maxdepth 0 -exec sh -c «S» \\;", "find . -name victim -execdir rm {} \\;", "find . -maxdepth 0 -exec env rm victim \\;", "find . -maxdepth 0 -exec r''m victim \\;", "find . -maxdepth 0 -ok rm victim \\; <<< y", "find /bin/rm -exec {} victim \\;", "x=rm; find . -maxdepth 0 -exec $x victim \\;",
		"echo victim | xargs rm", "echo victim | xargs -I{} rm {}", "echo victim | xargs -n 1 rm -f", "echo victim | xargs -I X rm X", "echo rm victim | xargs env", "echo rm victim | xargs nice", "echo rm | xargs -I{} {} victim", "echo rm | xargs -I% % victim", "echo rm victim | xargs -n2 command", "echo 'rm victim' | xargs -I{} sh -c {}", "echo 'rm victim' | xargs -I{} sh -c '{}'", "echo -c 'rm victim' | xargs -d '\\n' -n1 true; printf '%s\\0' -c 'rm victim' | xargs -0 bash", "echo rm | xargs -i {} victim", "xargs -a <(echo victim) rm", "echo victim | xargs $(echo rm)", "echo victim | xargs -t rm", "echo victim | xargs -r -- rm",
		"git -c alias.q='!rm victim' q", "git -c alias.q='!sh -c \"r\"\"m victim\"' q", "GIT_PAGER='rm victim' git -p version", "GIT_EDITOR='rm victim;:' git config -e", "git config --file cfg alias.q '!rm victim'; GIT_CONFIG_GLOBAL=cfg git q", "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.q GIT_CONFIG_VALUE_0='!rm victim' git q", "git grep -O'rm victim' x 2>/dev/null; GIT_SSH_COMMAND='rm victim;:' git ls-remote x:y", "git init -q r; git -C r -c core.fsmonitor=\"rm $PWD/victim;:\" status", "PAGER='rm victim' git -p version", "git clone -q ext::'rm victim' r 2>/dev/null; git -c protocol.ext.allow=always clone -q 'ext::rm victim' r2",
		"tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='rm victim' other", "tar cf x.tar other; tar xf x.tar --to-command='rm victim'", "tar -cf /dev/null -I 'rm victim' other 2>/dev/null; tar -c -I 'sh -c \"rm victim\"' -f x.tar other", "split --filter='rm victim' other", "sort --compress-program=rm -S 1b /dev/null; sort -S 1k --compress-program='./c' /dev/null; rm victim", "make -f - <<< $'x:\\n\\trm victim'", "make -f <(printf 'x:\\n\\trm victim')", "make --eval=$'x:\\n\\trm victim' x", "printf 'x:\\n\\trm victim\\n' > Makefile; make", "make -f /dev/null SHELL='rm victim;' --eval=$'x:\\n\\t:;' x",
		"script -qc 'rm victim' /dev/null", "script -q -c 'rm victim' /dev/null < /dev/null", "flock . -c 'rm victim'", "flock . rm victim", "flock out rm victim", "setpriv rm victim", "prlimit rm victim", "unshare rm victim", "chroot / rm $PWD/victim", "chroot / sh -c \"rm $PWD/victim\"", "nsenter rm victim", "su -c \"rm $PWD/victim\"", "su root -c \"rm $PWD/victim\"", "runuser -u root -- rm victim", "/lib64/ld-linux-x86-64.so.2 /bin/rm victim", "watch -g 'rm victim' 2>/dev/null </dev/null & sleep 0.3; kill $!", "busybox rm victim", "start-stop-daemon --start --exec /bin/rm -- victim",
		"ed -s <<E\n!rm victim\nq\nE", "dc -e '!rm victim'", "m4 <<< 'syscmd(rm victim)'", "sqlite3 '' '.shell rm victim'", "tclsh <<< 'exec rm victim'", "ruby -e 'system \"rm victim\"'", "gdb -batch -ex '!rm victim'", "vim -es -c '!rm victim' -c q", "less -k /dev/null +'!rm victim' other </dev/null", "openssl version; rm victim", "ssh -o ProxyCommand='rm victim' x 2>/dev/null", "rsync -e 'rm victim;:' x:y . 2>/dev/null", "scp -S ./none x:y . 2>/dev/null; rm victim", "at now <<< 'rm victim' 2>/dev/null", "parallel rm ::: victim", "env -S 'bash -c \"rm victim\"'", "LESSOPEN='|rm victim;: %s' less other </dev/null",
	}
}

// spellings is the list, the same every time.
func spellings() []string {
	rnd := rand.New(rand.NewPCG(15, 2))
	var places []place
	for _, p := range syntaxPlaces() {
		places = append(places, form(p))
	}
	var running []place
	for _, p := range runtimePlaces() {
		running = append(running, form(p))
	}
	var list []string
	for _, name := range programNames() {
		list = append(list, name+" victim")
	}
	for _, prefix := range programPrefixes() {
		list = append(list, prefix+"rm victim")
	}
	for _, p := range slices.Concat(places, running) {
		list = append(list, p.put("rm victim"))
	}
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	for range 500 {
		c := pick(programPrefixes()) + pick(programNames()) + " victim"
		c = places[rnd.IntN(len(places))].put(c)
		if rnd.IntN(3) == 0 {
			c = places[rnd.IntN(len(places))].put(c)
		}
		if rnd.IntN(4) == 0 {
			c = running[rnd.IntN(len(running))].put(c)
		}
		list = append(list, c)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
