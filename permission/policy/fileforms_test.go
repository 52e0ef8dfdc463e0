package policy_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A grammar of file accesses: spellings of a name for a shell, and commands that read or
// write the file. Each is used on its own for every target, and many are put together at
// random.

// target is a file that a rule forbids, seen from the project.
type target struct {
	rule    string
	dir     string // from the project
	abs     string
	name    string
	writes  bool
	outside bool // no rule for commands allows to go there
}

func targets() []target {
	return []target{
		{rule: "Read(.env)", dir: ".", abs: "«DIR»/repo", name: ".env"},
		{rule: "Read(/secrets/**)", dir: "secrets", abs: "«DIR»/repo/secrets", name: "key"},
		{rule: "Read(~/.ssh/**)", dir: "../home/.ssh", abs: "«DIR»/home/.ssh", name: "id", outside: true},
		{rule: "Edit(/infra/**)", dir: "infra", abs: "«DIR»/repo/infra", name: "keep", writes: true},
		{rule: "Edit(/«DIR»/out/**)", dir: "../out", abs: "«DIR»/out", name: "keep", writes: true, outside: true},
	}
}

// fillIn puts a target into a form. «D» is its directory, «A» the same from the
// root, «N» its name, «M» and «O» the halves of the name, «F» the first
// character and «X» the name in escapes.
func (g target) fillIn(form string) string {
	half := (len(g.name) + 1) / 2
	var escaped strings.Builder
	for _, c := range g.name {
		fmt.Fprintf(&escaped, `\x%02x`, c)
	}
	return strings.NewReplacer("«D»", g.dir, "«A»", g.abs, "«N»", g.name, "«M»", g.name[:half], "«O»", g.name[half:], "«F»", g.name[:1], "«X»", escaped.String()).Replace(form)
}

// namedWay is a way to name a file: what comes before the command, and a word.
type namedWay struct{ before, word string }

// put puts the word into a form: «P» is the file, and «Q» its directory.
func (n namedWay) put(form string) string {
	dir, ok := strings.CutSuffix(n.word, "/«N»")
	if !ok || dir == "" || strings.ContainsAny(dir, `"'`) {
		dir = "«D»"
	}
	return n.before + strings.NewReplacer("«P»", n.word, "«Q»", dir).Replace(form)
}

// fileNames are ways to name a file. What comes before is divided by "@ ".
func fileNames() []namedWay {
	var list []namedWay
	for _, text := range []string{
		"«D»/«N»", "./«D»/«N»", "«D»/./«N»", "«D»//«N»", "sub/../«D»/«N»", "sub/deep/../../«D»/«N»", "«A»/«N»", "/«A»//«N»", "/./«A»/../../..«A»/«N»", "'«D»/«N»'", `"«A»/«N»"`, "«D»/$'«X»'", `«D»/\«F»*`, "«D»/«M»''«O»", `«D»/«M»""«O»`, "«D»/«M»\\\n«O»", `"«D»"/'«M»'"«O»"`,
		"$PWD/«D»/«N»", `"$PWD"/«D»/«N»`, "${PWD}/«D»/«N»", "${PWD:-x}/«D»/«N»", `"${PWD%/}/«D»/«N»"`, "~+/«D»/«N»", "$(pwd)/«D»/«N»", "`pwd`/«D»/«N»", "${PWD%/*}/repo/«D»/«N»", "${PWD//x/x}/«D»/«N»", "$HOME/../repo/«D»/«N»", "~/../repo/«D»/«N»", "${HOME}/../repo/«D»/«N»", "~nobody/../..«A»/«N»",
		"cd sub; @ ../«D»/«N»", "cd sub/deep; @ ../../«D»/«N»", "cd sub && cd deep; @ ../../«D»/«N»", "cd sub; cd ..; @ «D»/«N»", "cd sub; @ ~-/«D»/«N»", "cd sub; @ $OLDPWD/«D»/«N»", `cd sub; @ "$OLDPWD/«D»/«N»"`, "cd sub; cd - >/dev/null; @ «D»/«N»", "cd «D»; @ «N»", "cd «D» && @ ./«N»", "cd «D»\n@ «N»", "cd «A»; @ «N»", "cd -P «D»; @ «N»", "cd -- «D»; @ «N»",
		"cd /; @ .«A»/«N»", "cd ..; @ repo/«D»/«N»", "cd ../..; cd «DIR»/repo; @ «D»/«N»", "cd; cd ../repo; @ «D»/«N»", "cd ~; @ ../repo/«D»/«N»", "cd \"$PWD/sub\"; @ ../«D»/«N»", "d=«D»; cd $d; @ «N»", `d=«D»; cd "$d"; @ «N»`, "cd $(echo «D»); @ «N»", "cd sub/..; @ «D»/«N»", "cd up; @ repo/«D»/«N»", "cd up/repo; @ «D»/«N»", "cd rootlink; @ .«A»/«N»",
		"pushd sub >/dev/null; @ ../«D»/«N»", "pushd sub >/dev/null; popd >/dev/null; @ «D»/«N»", "pushd sub >/dev/null; @ ~1/«D»/«N»", "pushd sub >/dev/null; @ ~+1/«D»/«N»", "pushd sub >/dev/null; @ ~-0/«D»/«N»", "pushd «D» >/dev/null; @ «N»", "pushd «A» >/dev/null && @ «N»", "pushd sub >/dev/null; pushd >/dev/null; @ «D»/«N»", "pushd sub >/dev/null; @ ${DIRSTACK[1]}/«D»/«N»", "builtin cd «D»; @ «N»", "command cd «D»; @ «N»", "eval cd «D»; @ «N»", "CDPATH=«A»/..; cd ${PWD:0:0}«D» >/dev/null; @ «N»", "HOME=«A»; cd; @ «N»", "HOME=«A»; @ ~/«N»", "OLDPWD=«A»; @ ~-/«N»", "OLDPWD=«A»; cd - >/dev/null; @ «N»", "shopt -s autocd; cd «D»; @ «N»", "f() { cd «D»; }; f; @ «N»", "alias c=cd; cd «D»; @ «N»",
		"/proc/self/cwd/«D»/«N»", "/proc/self/root«A»/«N»", "/proc/$$/cwd/«D»/«N»", "/proc/thread-self/cwd/«D»/«N»", "/dev/fd/../cwd/«D»/«N»", "/proc/self/task/../cwd/«D»/«N»", "/proc/self/fd/../root«A»/«N»", "/proc/1/../self/cwd/«D»/«N»", "/proc/s*/cwd/«D»/«N»", "exec 7<.; @ /proc/self/fd/7/«D»/«N»", "exec 7<«D»; @ /dev/fd/7/«N»", "exec 7<«A»; @ /proc/self/fd/7/«N»", "cd /proc/self/cwd; @ «D»/«N»", "cd /proc/self/root; @ .«A»/«N»",
		"f=«D»/«N»; @ $f", `f=«A»/«N»; @ "$f"`, "f=«D»; @ $f/«N»", `f=«D»; @ "$f/«N»"`, "f=«M»; @ «D»/$f«O»", "f=«M»; @ «D»/${f}«O»", "f=«O»; @ «D»/«M»$f", "f=x«D»/«N»; @ ${f#x}", "f=«D»/«N»x; @ ${f%x}", "f=«D»/«N»xyz; @ ${f:0:${#f}-3}", "f=«D»/zz; @ ${f/zz/«N»}", "f=(«D»/«N»); @ ${f[0]}", `f=(«D»/«N»); @ "${f[@]}"`, "f[3]=«D»/«N»; @ ${f[3]}", "declare -A f=([a]=«D»/«N»); @ ${f[a]}", "declare f=«D»/«N»; @ $f", "export f=«D»/«N»; @ $f", "readonly f=«D»/«N»; @ $f", "f=«D»; f+=/«N»; @ $f", "g=«D»/«N»; f=$g; @ $f", "a=f f=«D»/«N»; @ ${!a}", "read f <<< «D»/«N»; @ $f", "read -r a f <<< 'x «D»/«N»'; @ $f", "printf -v f %s/%s «D» «N»; @ $f", "mapfile -t f <<< «D»/«N»; @ ${f[0]}", "set -- «D»/«N»; @ $1", `set -- «D»/«N»; @ "$@"`, "set -- «D» «N»; @ $1/$2", "${f:-«D»/«N»}", "${f:=«D»/«N»}", `"${f:-«D»}/«N»"`, ": ${f:=«D»/«N»}; @ $f", "${f-«D»}/«N»", "f=1; @ ${f:+«D»/«N»}", "f=«D»/«N»; @ ${f@Q}", "f=$(echo «D»/«N»); @ $f", "f=`echo «D»`; @ $f/«N»", "for f in «D»/*; do :; done; @ «D»/«N»", "IFS=:; f=x:«D»/«N»; set -- $f; @ $2", "f=«D»/«N»; g='$f'; eval g=$g; @ $g", "declare -n r=f; f=«D»/«N»; @ $r", "local f=«D»/«N» 2>/dev/null; f=«D»/«N»; @ $f", "unset f; f=«D»/; @ $f«N»",
		"«D»/«M»*", "«D»/«F»*", "«D»/*«O»", "«D»/«F»?*", "«D»/[«F»]*", "«D»/«M»[!x]*", "«D»/«M»[a-z]*", "«D»/{«N»,}", "«D»/{x,«N»}", "{«D»,x}/«N»", "«D»/«M»{«O»,x}", "«D»/{«M»,}{«O»,x}", "{«D»/«N»,x}", "{sub/..,x}/«D»/«N»", "«D»/«M»{a..z}«O» @«D»/«N»", "«D»/?«O»", "./*/../«D»/«N»", "./s?b/../«D»/«N»", "./[s]ub/../«D»/«N»", "s*/../«D»/«N»", "shopt -s dotglob; @ «D»/*", "shopt -s extglob\n@ «D»/@(«N»)", "shopt -s extglob\n@ «D»/!(x)", "shopt -s globstar; @ «D»/**/«N»", "shopt -s nocaseglob; @ «D»/«M»*", "GLOBIGNORE=x; @ «D»/*", "set -o noglob; set +o noglob; @ «D»/«M»*", "shopt -s nullglob; @ «D»/«M»*", "f='«D»/«M»*'; @ $f", "f=*; @ «D»/«M»$f", "«D»/«M»[[:alnum:]]*", `«D»/«M»[^\/]*`,
		"$(echo «D»/«N»)", "`echo «D»/«N»`", `"$(echo «A»/«N»)"`, "$(printf «D»/«M»%s «O»)", "«D»/$(echo «N»)", "«D»/«M»$(echo «O»)", "«D»/$(ls -A «D» | grep «O»)", "$(echo «D»)/«N»", "$(realpath «D»/«N»)", "$(readlink -f «D»/«N»)", "«D»/$(basename x/«N»)", "$(dirname «D»/x)/«N»", "$(ls -d «D»/«M»*)", "$(find «D» -name '«M»*')", "$(cat <<< «D»/«N»)", "$(cat <<E\n«D»/«N»\nE\n)", "$(echo «N»«D»| sed 's/\\(«N»\\)\\(.*\\)/\\2\\/\\1/')", "$(rev <<< $(rev <<< «D»/«N»))", "$(base64 -d <<< $(base64 <<< «D»/«N»))", "$(tr a-z A-Z <<< x >/dev/null; echo «D»/«N»)",
		"ln -s «A»/«N» l; @ l", "ln -s «A» l; @ l/«N»", "ln -s . l; @ l/«D»/«N»", "ln -s / l; @ l«A»/«N»", "ln -s .. l; @ l/repo/«D»/«N»", "ln -sfn «A» l; cd l; @ «N»", "ln -s «A» l; ln -s l m; @ m/«N»", "ln -s $PWD l; @ l/«D»/«N»", "ln -s \"$PWD\" sub/l; @ sub/l/«D»/«N»", "mkdir q; ln -s .. q/l; @ q/l/«D»/«N»", "mkdir -p q/r; cd q/r; @ ../../«D»/«N»", "cp -s «A»/«N» l 2>/dev/null; ln -sf «A»/«N» l; @ l", "cp -as «A» l; @ l/«N»", "ln -s up l; @ l/repo/«D»/«N»", "d=.; ln -s $d l; @ l/«D»/«N»", "d=$PWD; ln -s $d/«D» l; @ l/«N»",
		"up/repo/«D»/«N»", "rootlink«A»/«N»", "sub/back/«D»/«N»", "linkto-«N»", "dirof-«N»/«N»", "./dirof-«N»/./«N»", "sub/../dirof-«N»/«N»", "cd dirof-«N»; @ «N»", "dirof-«N»/../$(basename «A»)/«N»", "$PWD/linkto-«N»", "link*-«N»", "{linkto,x}-«N»",
	} {
		before, word, cut := strings.Cut(text, "@ ")
		if !cut {
			before, word = "", text
		}
		list = append(list, namedWay{before, word})
	}
	return list
}

// readingForms are ways to read what «P» names; where «D», «A» and «N» stand, the
// name must be plain.
func readingForms() []string {
	return []string{
		"cat «P»", "cat -- «P»", "cat -A «P»", "cat notes.txt «P»", "head «P»", "head -n1 «P»", "head -qn1 «P»", "head -c 99 -- «P»", "tail «P»", "tail -n+1 «P»", "tac «P»", "nl «P»", "sort «P»", "sort -o copy «P»", "uniq «P»", "uniq «P» copy", "cut -c1- «P»", "paste «P»", "paste notes.txt «P»", "fold «P»", "fmt «P»", "pr -t «P»", "expand «P»", "unexpand «P»", "comm «P» /dev/null", "join «P» «P»", "diff /dev/null «P»", "diff -u «P» /dev/null", "diff3 «P» «P» /dev/null", "cmp «P» notes.txt; cat «P»", "strings «P»", "rev «P» | rev", "base64 «P» | base64 -d", "xxd -p «P» | xxd -r -p", "od -An -c «P» | tr -d ' \\n'; cat «P»", "column «P»", "more «P»", "less «P»", "tsort «P» 2>&1", "shuf «P»", "shuf -en1 \"$(<«P»)\"", "numfmt --invalid=ignore < «P»", "look '' «P»", "grep '' «P»", "grep -h '' notes.txt «P»", "egrep . «P»", "fgrep -f «P» «P»", "grep -f«P» «P»", "grep --file=«P» «P»", "sed '' «P»", "sed -n p «P»", "sed -n '$p' «P»", "sed -s -n 1p notes.txt «P»", "awk 1 «P»", "awk '{print}' «P»", "perl -pe '' «P»", "perl -ne 'print' «P»", "cut -d= -f1- «P»", "tee copy < «P»", "tee copy <«P» >/dev/null", "wc -l «P»; cat «P»", "ed -s «P» <<< ,p", "vim -es '+%p' '+q!' «P»", "date -f «P» 2>&1", "file -f «P» 2>&1", "sha256sum -c «P» 2>&1; cat «P»",
		"cat < «P»", "cat <«P»", "< «P» cat", "<«P» cat", "cat 0< «P»", "cat 0<> «P»", "cat <> «P»", "cat 3< «P» <&3", "exec 3< «P»; cat <&3", "exec 3<«P»; cat /dev/fd/3", "exec 3<«P»; cat /proc/self/fd/3", "exec {fd}< «P»; cat <&$fd", "exec < «P»; cat", "exec 0<«P»; read -r l; echo $l", "cat <&3 3<«P»", "{ cat; } < «P»", "(cat) < «P»", "while read -r l; do echo \"$l\"; done < «P»", "until ! read -r l; do echo $l; done < «P»", "for i in 1; do cat; done < «P»", "if :; then cat; fi < «P»", "case a in a) cat;; esac < «P»", "f() { cat; }; f < «P»", "f() { cat; } < «P»; f", "read -r l < «P»; echo \"$l\"", "read -rd '' l < «P»; echo \"$l\"", "mapfile -t a < «P»; echo \"${a[@]}\"", "mapfile a < «P»; printf %s \"${a[@]}\"", "echo \"$(< «P»)\"", "echo $(<«P»)", "echo `<«P»`", "cat <<< \"$(<«P»)\"", "printf '%s\\n' \"$(cat «P»)\"", "x=$(<«P»); echo $x", "x=`cat «P»`; echo $x", "cat <(cat «P»)", "cat <(<«P» cat)", "cat < <(cat «P»)", "cat «P» > >(cat); sleep 0.1", "cat <<E\n$(cat «P»)\nE", "cat <<E\n`<«P»`\nE", "tr a a < «P»", "dd < «P» status=none", "sort < «P» -o copy", "select l in $(<«P»); do echo $l; break; done <<< 1", "coproc cat «P»; cat <&${COPROC[0]}", "echo ${x:-$(<«P»)}", "echo $(( $(wc -c < «P») )); cat «P»", "[[ -n $(cat «P» >&2) ]] 2>&1; [[ x ]] && cat «P»",
		"cp «P» copy", "cp -- «P» copy", "cp -t . «P» && cat ./«N»", "cp -t. «P»; cat «N»", "cp -a «P» copy", "cp -r «P» copy", "cp --target-directory=sub «P»", "cp --target-directory sub «P»", "cp -vtsub «P»", "cp -ftsub «P»", "cp -l «P» copy", "cp -s «A»/«N» copy; cat copy", "mv «P» moved", "mv -tsub «P»", "ln «P» hard", "ln -t sub «P»", "ln -tsub «P»", "link «P» hard", "install «P» copy", "install -m600 -t sub «P»", "install -tsub «P»", "dd if=«P» status=none", "dd if=«P» of=copy status=none", "dd status=none if=«A»/«N»", "rsync «P» copy", "tar cf - «P» 2>/dev/null", "tar -cf t.tar «P»", "tar -cft.tar «P»", "tar cf t.tar -C «D» «N»", "tar -C «D» -cf t.tar «N»", "tar -C«D» -cft.tar «N»", "tar -cf t.tar -T - <<< «P»", "tar -cf t.tar --files-from=<(echo «P»)", "tar --exclude-from=«P» -cf t.tar «P»", "zip -q0 z.zip «P»", "gzip -c «P» | gzip -dc", "gzip -kf «P»; zcat «P».gz", "zcat -f «P»", "bzip2 -c «P» | bzip2 -dc", "xz -c «P» | xz -dc", "zstd -qc «P» | zstd -dc", "ar q a.a «P»", "split «P»", "split -n1 «P» part", "csplit -s «P» 1", "cpio -o <<< «P» > c.cpio 2>/dev/null", "patch -o copy «P» < /dev/null; cat «P»", "truncate -r «P» new; cat «P»", "openssl enc -base64 -in «P» | openssl enc -base64 -d", "openssl enc -in «P» -none", "git diff --no-index /dev/null «P»", "git hash-object -w «P»; cat «P»", "git grep --no-index -h '' «P»", "curl -s file://«A»/«N»", "curl -s -K «P» x 2>&1; cat «P»", "jq -R . «P»", "jq -Rr --rawfile a «P» -n '$a'", "jq -nr --rawfile a «P» '$a'", "sqlite3 :memory: \".import «A»/«N» t\" 'select * from t'", "m4 «P»", "cpp -P «P» 2>/dev/null", "gcc -E -P -x c «P»",
		"source «P» 2>&1", ". «P» 2>&1", "bash «P» 2>&1", "sh «P» 2>&1", "bash < «P» 2>&1", "bash -v «P» 2>&1", "bash -x «P» 2>&1", "BASH_ENV=«P» bash -xc : 2>&1", "bash --rcfile «P» -ic : 2>&1", "eval \"echo $(<«P»)\"", "xargs -a «P» echo", "xargs -a«P» echo", "xargs --arg-file=«P» echo", "xargs < «P» echo", "xargs echo < «P»", "echo «P» | xargs cat", "xargs cat <<< «P»", "echo «P» | xargs -n1 cat", "echo «P» | xargs -I{} cat {}", "echo «P» | xargs -i cat {}", "printf '%s\\0' «P» | xargs -0 cat", "echo «P» | xargs -I% sh -c 'cat %'", "echo «P» | while read -r f; do cat $f; done", "while read -r f; do cat \"$f\"; done <<< «P»", "printf '%s\\n' «P» | tee list >/dev/null; xargs -a list cat", "echo «P» > list; cat $(<list)", "echo «D» | xargs -I{} cat {}/«N»", "echo «N» | xargs -I{} cat «D»/{}", "ls -A «D» | xargs -I{} cat «D»/{}", "ls -d «D»/.* «D»/* 2>/dev/null | xargs cat 2>/dev/null", "printf «D»/«M»%s «O» | xargs cat", "echo «D»/«M»X | sed s/X/«O»/ | xargs cat", "wc --files0-from=<(printf '%s\\0' «P») -l; cat «P»", "sort --files0-from=- < <(printf '%s\\0' «P»)", "parallel cat ::: «P»",
		"find «P» -exec cat {} \\;", "find «P» -exec cat {} +", "find «D» -name «N» -exec cat {} +", "find «D» -name '«M»*' -exec cat {} +", "find «D» -maxdepth 1 -type f -exec cat {} +", "find «D» -type f -exec cat {} \\;", "find «D» -type f -execdir cat {} \\;", "find «D»/ -type f -exec head {} +", "find «A» -type f -exec cat {} +", "find «D» -name '*«O»' -exec cp {} copy \\;", "find «D» -name «N» | xargs cat", "find «D» -type f -print0 | xargs -0 cat", "find «D» -path '*«O»' -exec cat {} +", "find «D» -iname '«M»*' -exec cat {} +", "find «D» -regex '.*«O»' -exec cat {} +", "find «D» -newermt 2000-01-01 -type f -exec cat {} +", "find «D» -type f -exec sh -c 'cat \"$1\"' _ {} \\;", "find «D» -type f -exec sh -c 'cat {}' \\;", "find «D» -type f -exec cat {} + | cat", "find «D» -type f -ok cat {} \\; <<< y", "find «D» -name «N» -exec cat {} + -quit", "for f in $(find «D» -type f); do cat \"$f\"; done", "find «D» -type f | while read -r f; do cat \"$f\"; done", "cat $(find «D» -type f)", "cd «D» && find . -type f -exec cat {} +", "find . -samefile «P» -exec cat {} +",
		"bash -c 'cat «D»/«N»'", "bash -c \"cat «D»/«N»\"", "bash -c 'cat \"$1\"' _ «P»", "bash -c 'cat $0' «P»", "sh -c 'cat <«D»/«N»'", "bash <<< 'cat «D»/«N»'", "bash <<E\ncat «D»/«N»\nE", "eval 'cat «D»/«N»'", "eval cat «P»", "x='cat «D»/«N»'; eval \"$x\"", "trap 'cat «D»/«N»' EXIT", "env cat «P»", "env -C «D» cat «N»", "env --chdir=«D» cat «N»", "env --chdir «D» cat «N»", "env -C«D» cat «N»", "env -S 'cat «D»/«N»'", "timeout 5 cat «P»", "nice cat «P»", "nohup cat «P»", "command cat «P»", "exec cat «P»", "exec cat < «P»", "setsid -w cat «P»", "stdbuf -o0 cat «P»", "/bin/cat «P»", "\\cat «P»", "c\\at «P»", "'cat' «P»", "c=cat; command $c «P»", "{cat,«D»/«N»}", "(cat «P»)", "{ cat «P»; }", "! cat «P»", "time cat «P»", "f() { cat «P»; }; f", "f() { cat \"$1\"; }; f «P»", "f() { cat \"$1/$2\"; }; f «D» «N»", "f() { cat \"$@\"; }; f «P»", "f() { cd \"$1\"; cat «N»; }; f «D»", "g() { f \"$1\"; }; f() { cat \"$1\"; }; g «P»", "cat «P» | cat", "cat «P» |& cat", "cat «P» &\nwait", "true && cat «P»", "false || cat «P»", "if cat «P»; then :; fi", "while cat «P»; do break; done", "for f in «P»; do cat $f; done", "for f in «P»; do cat \"$f\"; done", "for d in «D»; do cat $d/«N»; done", "for d in x «D»; do (cd $d && cat «N») 2>/dev/null; done", "for n in «N»; do cat «D»/$n; done", "for f in «D»/* «D»/.*; do cat \"$f\" 2>/dev/null; done", "select f in «P»; do cat $f; break; done <<< 1", "case «P» in *) cat «P»;; esac", "flock . cat «P»", "script -qc 'cat «D»/«N»' /dev/null", "make -f - <<< $'x:;@cat «D»/«N»'", "make -sf /dev/null --eval='$(info $(shell cat «D»/«N»))' 2>/dev/null", "git -c alias.q='!cat «D»/«N»' q", "awk '{while((getline l < \"«D»/«N»\")>0) print l}' notes.txt", "awk -v f=«D»/«N» '{while((getline l < f)>0) print l}' notes.txt", "awk 'BEGIN{ARGV[1]=\"«D»/«N»\";ARGC=2}1'", "awk -f «P» 2>&1; cat «P»", "sed 'r «D»/«N»' notes.txt", "sed '1r«D»/«N»' notes.txt", "sed 'R «D»/«N»' notes.txt", "sed -e '$r«A»/«N»' notes.txt", "python3 -c 'print(open(\"«D»/«N»\").read())'", "python3 - «P» <<< 'import sys; print(open(sys.argv[1]).read())'", "python3 -c 'import sys; print(sys.stdin.read())' < «P»", "perl -e 'open F, \"«D»/«N»\"; print <F>'", "perl -e 'print <>' «P»", "perl -0777 -pe 1 «P»", "node -p 'require(\"fs\").readFileSync(\"«D»/«N»\").toString()'", "node -e 'console.log(require(\"fs\").readFileSync(process.argv[1]).toString())' «P»",
	}
}

// wholeForms take a whole directory. They must be denied if the rule names the directory;
// taking a parent directory is a known limit.
func wholeForms() []string {
	return []string{"cp -r «D» copy", "cp -r «D»/. copy", "cp -a «A» copy", "mv «D» moved 2>/dev/null || cp -r «D» moved", "tar --directory=«D» -cf t.tar .", "tar cf t.tar «D»/.", "grep -rh '' «D»", "cp -r «Q»/ copy", "rsync -a «D»/ copy", "zip -q0r z «D»"}
}

// writingForms are ways to write what «P» names, or into «Q».
func writingForms() []string {
	return []string{
		"echo x > «P»", "echo x >> «P»", "echo x >| «P»", "echo x >«P»", "echo x 1> «P»", "echo x 1>| «P»", "echo x &> «P»", "echo x &>> «P»", "echo x >& «P»", "echo x <> «P» >&0", "echo x 1<> «P»", "> «P»", ">«P» echo x", ": > «P»", "> «P» :", "echo x >&2 2> «P»", "exec 3> «P»; echo x >&3", "exec 3>> «P»; echo x >&3", "exec {fd}> «P»; echo x >&$fd", "exec > «P»; echo x", "exec &> «P»; echo x", "exec 4<> «P»; echo x >&4", "cat > «P» <<E\nx\nE", "cat <<E > «P»\nx\nE", "cat <<< x > «P»", "{ echo x; } > «P»", "(echo x) > «P»", "for i in 1; do echo x; done > «P»", "if :; then echo x; fi > «P»", "while :; do echo x; break; done >> «P»", "case a in a) echo x;; esac > «P»", "f() { echo x; }; f > «P»", "f() { echo x; } > «P»; f", "echo x | cat > «P»", "echo x > >(cat > «P»); sleep 0.1", "printf x > «P»", "time echo x > «P»", "! echo x > «P»", "[[ a ]] > «P»", "((1)) > «P»", "coproc { echo x > «P»; }; wait", "set -x; exec 5> «P»; BASH_XTRACEFD=5; :", "eval 'echo x > «D»/«N»'", "eval echo x '>' «P»", "bash -c 'echo x > «D»/«N»'", "bash -c 'echo x > \"$1\"' _ «P»", "bash <<< 'echo x > «D»/«N»'", "trap 'echo x > «D»/«N»' EXIT", "set -C; echo x >| «P»", "echo x | while read -r l; do echo $l > «P»; done", "x=$(echo y > «P»)", "echo \"$(echo y > «P»)\"", "cat <<E\n$(echo y > «P»)\nE",
		"tee «P» <<< x", "tee -a «P» <<< x", "echo x | tee «P» >/dev/null", "echo x | tee copy «P»", "tee -- «P» <<< x", "tee <<< x «P»", "touch «Q»/new", "touch -- «Q»/new", "touch «Q»/{a,b}", "touch -d 2000-01-01 «P»", "cp notes.txt «P»", "cp -f notes.txt «P»", "cp notes.txt «Q»", "cp notes.txt «Q»/", "cp -t «Q» notes.txt", "cp -t«Q» notes.txt", "cp -ft«Q» notes.txt", "cp -vt«Q» notes.txt", "cp -rvft«Q» notes.txt", "cp -ft «Q» notes.txt", "cp --target-directory=«Q» notes.txt", "cp --target-directory «Q» notes.txt", "cp --target-dir=«Q» notes.txt", "cp --t=«Q» notes.txt", "cp --ta «Q» notes.txt", "cp notes.txt -t «Q»", "cp -s «DIR»/repo/notes.txt «Q»/new", "cp -r sub «Q»", "cp --parents sub/in «Q»", "cp -b notes.txt «P»", "mv notes.txt «P»", "mv notes.txt «Q»", "mv -t«Q» notes.txt", "mv -ft«Q» notes.txt", "mv --target-directory=«Q» notes.txt", "mv «P» elsewhere", "mv -t. «P»", "mv -T sub «Q»/new", "ln notes.txt «Q»/new", "ln -s x «Q»/new", "ln -sf notes.txt «P»", "ln -st«Q» notes.txt", "ln -st «Q» notes.txt", "ln --target-directory=«Q» -s notes.txt", "link notes.txt «Q»/new", "install notes.txt «P»", "install -t«Q» notes.txt", "install -Dt«Q» notes.txt", "install -m 600 -t «Q» notes.txt", "install -Dm644 notes.txt «Q»/a/b", "install -d «Q»/new", "mkdir «Q»/new", "mkdir -p «Q»/a/b", "mkdir -m700 «Q»/new", "mkfifo «Q»/new", "mknod «Q»/new p", "dd of=«P» status=none <<< x", "dd if=notes.txt of=«P» status=none", "dd of=«P» conv=notrunc status=none < notes.txt", "rsync notes.txt «P»", "truncate -s1 «P»", "truncate -s 0 «P»", "truncate --size=2 «P»", "truncate -cs0 «P»", "rm «P»", "rm -f «P»", "rm -rf «Q»/*", "rm -- «P»", "unlink «P»", "shred -u «P»", "shred «P»", "rmdir «Q»/empty", "chmod 0 «P»", "chmod -R go-r «Q»", "chmod u+x «P»", "chgrp 65534 «P»; chmod 1 «P»", "gzip «P»", "gzip -f «P»", "gzip -kf «P»", "bzip2 «P»", "xz «P»", "zstd -q «P»", "gzip -c notes.txt > «P»",
		"tar cf «P» notes.txt", "tar -cf «P» notes.txt", "tar -cf«P» notes.txt", "tar -cvf«P» notes.txt", "tar --file=«P» -c notes.txt", "tar --create --file «P» notes.txt", "tar -c --fil=«P» notes.txt", "tar cf a.tar notes.txt; tar xf a.tar -C «Q»", "tar cf a.tar notes.txt; tar -C«Q» -xf a.tar", "tar cf a.tar notes.txt; tar -xf a.tar --directory=«Q»", "tar cf a.tar notes.txt; tar -xf a.tar --directory «Q»", "tar cf a.tar notes.txt; tar -xf a.tar --dir=«Q»", "tar cf a.tar notes.txt; tar -xf a.tar --one-top-level=«Q»/new", "tar cf a.tar notes.txt; cd «Q»; tar xf «DIR»/repo/a.tar", "tar c notes.txt | tar x -C «Q»", "tar -cf x.tar --index-file=«P» -v notes.txt", "tar -g«P» -cf x.tar notes.txt", "tar --remove-files -cf x.tar «P»", "zip -q «Q»/new notes.txt", "zip -q z notes.txt; unzip -qd «Q» z", "zip -q z notes.txt; unzip -qd«Q» z", "zip -qm z «P»", "sort -o «P» notes.txt", "sort -o«P» notes.txt", "sort -uo«P» notes.txt", "sort -uo «P» notes.txt", "sort --output=«P» notes.txt", "sort --output «P» notes.txt", "sort --out=«P» notes.txt", "sort notes.txt -o «P»", "uniq notes.txt «P»", "split notes.txt «Q»/new", "split -l 1 notes.txt «Q»/new", "split - «Q»/new <<< x", "csplit -sf«Q»/new notes.txt 1", "csplit -s -f «Q»/new notes.txt 1", "csplit -s --prefix=«Q»/new notes.txt 1", "sed -i s/k/y/ «P»", "sed -i.bak s/k/y/ «P»", "sed -n -i p «P»", "sed --in-place s/k/y/ «P»", "sed --in-pl=.b s/k/y/ «P»", "sed -Ei s/k/y/ «P»", "sed -n 'w «D»/«N»' notes.txt", "sed -n 'w«D»/«N»' notes.txt", "sed 's/x/y/w «D»/«N»' notes.txt", "sed -n '/x/w «A»/«N»' notes.txt", "perl -i -pe 's/k/y/' «P»", "perl -pi -e 's/k/y/' «P»", "perl -i.bak -pe 's/k/y/' «P»", "awk '{print > \"«D»/«N»\"}' notes.txt", "awk '{print >> \"«D»/«N»\"}' notes.txt", "awk -v f=«D»/«N» '{print > f}' notes.txt", "awk '{printf \"x\" > \"«A»/«N»\"}' notes.txt", "gawk -i inplace '{print \"x\"}' «P»", "ed -s «P» <<< $'1d\\nw'", "ed -s notes.txt <<< 'w «D»/«N»'", "ex -sc 'w! «D»/«N»' -c q notes.txt", "vim -es '+w! «D»/«N»' +q notes.txt", "patch -s «P» <<< $'--- a\\n+++ b\\n@@ -1 +1 @@\\n-keep\\n+y'", "patch -so «P» notes.txt <<< $'--- a\\n+++ b\\n@@ -1 +1 @@\\n-x\\n+y'", "xxd notes.txt «P»", "xxd -r - «P» <<< 00:78", "openssl rand -out «P» 4", "openssl enc -none -in notes.txt -out «P»", "mktemp «Q»/XXXXXX", "mktemp -p «Q»", "mktemp -p«Q»", "mktemp --tmpdir=«Q»", "mktemp -d «Q»/XXX", "TMPDIR=«A» mktemp", "script -qc true «P»", "flock «Q»/new true", "nohup true > «P»", "cpio -pd «Q» <<< notes.txt 2>/dev/null", "cpio -o <<< notes.txt > «P» 2>/dev/null", "cpio -oO«P» <<< notes.txt 2>/dev/null", "ar q «Q»/new notes.txt", "jq -n 1 > «P»", "curl -so «P» file://«DIR»/repo/notes.txt", "curl -so«P» file://«DIR»/repo/notes.txt", "curl -s --output «P» file://«DIR»/repo/notes.txt", "curl -s file://«DIR»/repo/notes.txt > «P»", "cd «Q» && curl -sO file://«DIR»/repo/notes.txt", "curl -s --output-dir «Q» -O file://«DIR»/repo/notes.txt", "sqlite3 «Q»/new 'create table t(x)'", "sqlite3 :memory: '.output «A»/«N»' '.print x'", "gcc -x c -c /dev/null -o «Q»/new", "cc -xc -c -o«Q»/new /dev/null", "iconv -o «P» notes.txt", "base64 notes.txt > «P»", "m4 notes.txt > «P»",
		"git init -q «Q»/new", "git -C «Q» init -q", "git --git-dir=«Q»/new init -q", "GIT_DIR=«A»/new git init -q", "git init -q r; git -C r archive -o «A»/new HEAD 2>/dev/null; git clone -q r «Q»/new 2>/dev/null", "git init -q --separate-git-dir=«A»/new r", "git diff --no-index --output=«P» /dev/null notes.txt", "git config -f «P» a.b c", "git config --file=«P» a.b c", "find . -name notes.txt -exec cp {} «P» \\;", "find . -name notes.txt -exec cp -t «Q» {} +", "find . -name notes.txt -fprint «P»", "find . -name notes.txt -fls «P»", "find . -name notes.txt -fprintf «P» x", "find «Q» -name keep -delete", "find «Q» -type f -delete", "find «Q» -mindepth 1 -delete", "find «Q» -type f -exec rm {} +", "find «Q» -type f -exec rm {} \\;", "find «Q» -type f -exec sed -i s/k/y/ {} +", "find «Q» -type f -execdir touch new \\;", "find «Q» -type f -exec truncate -s0 {} +", "find «Q» -type f | xargs rm", "find «Q» -type f -print0 | xargs -0 rm -f", "ls -d «Q»/* | xargs rm", "echo «P» | xargs rm", "echo «P» | xargs touch -d 2000-01-01; echo «P» | xargs truncate -s 1", "xargs truncate -s1 <<< «P»", "echo notes.txt | xargs -I{} cp {} «P»", "echo «P» | xargs -I{} cp notes.txt {}", "echo «D» | xargs -I{} cp notes.txt {}/new", "printf «D»/%s new | xargs touch", "echo «D»/X | sed s/X/new/ | xargs touch", "echo x | xargs -I{} tee «P» <<< x", "ls «Q» | xargs -I{} rm «Q»/{}",
		"cd «Q» && touch new", "(cd «Q»; > new)", "cd «Q»; echo x > keep", "cd «Q»; rm *", "pushd «Q» >/dev/null && touch new", "cd «Q»; cp «DIR»/repo/notes.txt .", "cd «Q» && cp «DIR»/repo/notes.txt new", "cd «Q»; mkdir new", "cd «Q»; tee new <<< x", "env -C «Q» touch new", "env --chdir=«Q» touch new", "env -C«Q» touch new", "make -C «Q» -f - <<< $'x:;touch new'", "make -sC«Q» -f - <<< $'x:;touch new'", "HOME=«A»; cd; touch new", "HOME=«A»; touch ~/new", "cd sub; touch ../«D»/new", "cd sub/deep; echo x > ../../«D»/new", "d=«D»; cd $d; touch new", "f() { touch \"$1\"; }; f «Q»/new", "f() { echo x > \"$1\"; }; f «P»", "f() { cd $1; touch new; }; f «Q»", "for f in «P»; do echo x > $f; done", "for f in «Q»/*; do echo x > \"$f\"; done", "for d in «Q»; do touch $d/new; done", "read -r f <<< «P»; echo x > $f", "bash -c 'touch «D»/new'", "bash -c 'touch \"$0\"' «Q»/new", "bash -c 'cd «D»; touch new'", "eval 'touch «D»/new'", "eval touch «Q»/new", "env touch «Q»/new", "command touch «Q»/new", "timeout 5 touch «Q»/new", "nice touch «Q»/new", "exec touch «Q»/new", "/bin/touch «Q»/new", "t''ouch «Q»/new", "{touch,«D»/new}", "x=touch; command $x «Q»/new", "stdbuf -o0 tee «P» <<< x", "setsid -w touch «Q»/new", "flock . touch «Q»/new", "git -c alias.q='!touch «A»/new' q", "make -f - <<< $'x:;touch «D»/new'", "ln -s «A» l; touch l/new", "ln -s «A»/«N» l; echo x > l", "ln -s «A»/new l; echo x > l", "ln «P» l; echo x > l", "mv «Q» moved; touch moved/new; mv moved «Q»", "cp -a «Q» q2; rm -r «Q»; cp -a q2 «Q»", "python3 -c 'open(\"«D»/«N»\",\"w\")'", "python3 -c 'import os; os.remove(\"«D»/«N»\")'", "perl -e 'open F, \">«D»/«N»\"; print F 1'", "perl -e 'unlink \"«D»/«N»\"'", "node -e 'require(\"fs\").writeFileSync(\"«D»/«N»\", \"x\")'", "python3 - «P» <<< 'import sys; open(sys.argv[1],\"w\")'",
	}
}

// fileSpelling is a text and the file that it may reach.
type fileSpelling struct {
	text   string
	target target
}

// seed chooses other combinations than the ones that are always tried:
//
//	go test ./permission/policy -run TestFileNumbers -seed 7
var seed = flag.Uint64("seed", 0, "try 3000 other spellings that reach a file")

// fileSpellings is the list, the same every time unless there is a seed. The
// targets share the forms.
func fileSpellings() []fileSpelling {
	var list []fileSpelling
	for i, g := range targets() {
		rnd := rand.New(rand.NewPCG(*seed, uint64(i)))
		names, forms, turns := fileNames(), readingForms(), 3
		short := []string{"cat «P»", "cat < «P»", "cp «P» copy", "head -n1 «P»", "sort «P»"}
		if g.writes {
			forms, turns = writingForms(), 2
			short = []string{"echo x > «P»", "cp notes.txt «P»", "tee «P» <<< x", "rm «P»", "truncate -s1 «P»"}
		} else if g.dir != "." {
			forms = append(forms, wholeForms()...)
		}
		add := func(c string) { list = append(list, fileSpelling{g.fillIn(c), g}) }
		together := 40
		if *seed != 0 {
			together = 500
		}
		for j, form := range forms {
			if j%turns == i%turns && *seed == 0 {
				add(namedWay{"", "«D»/«N»"}.put(form))
			}
		}
		for j, n := range names {
			if j%turns == i%turns && *seed == 0 {
				add(n.put(short[j%len(short)]))
			}
		}
		for range together {
			add(names[rnd.IntN(len(names))].put(forms[rnd.IntN(len(forms))]))
		}
		for range together / 4 {
			c := names[rnd.IntN(len(names))].put(short[rnd.IntN(len(short))])
			if places := syntaxPlaces(); !strings.Contains(c, "\n") {
				add(form(places[rnd.IntN(len(places))]).put(c))
			}
		}
	}
	slices.SortFunc(list, func(a, b fileSpelling) int { return strings.Compare(a.target.rule+a.text, b.target.rule+b.text) })
	return slices.CompactFunc(list, func(a, b fileSpelling) bool { return a.text == b.text && a.target.rule == b.target.rule })
}
