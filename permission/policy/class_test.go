package policy_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// classSpellings are ways to hide "rm victim", each of which follows from one
// difference between bash and the parser, or from a name that does not reveal
// what runs.
func classSpellings() (list []string) {
	list = append(list, quotesInParameters("rm victim")...)
	list = append(list, backquoteSpellings("rm victim")...)
	list = append(list, processSpellings("rm victim")...)
	return append(list, descriptorSpellings()...)
}

// quotesInParameters hide a command in single quotes where these are text: in
// ${…} in double quotes and in a here-document, and in expressions.
func quotesInParameters(command string) (list []string) {
	for _, subst := range []string{"$(" + command + ")", "`" + command + "`", "$(true; " + command + ")", "${y:-$(" + command + ")}"} {
		for _, quoted := range []string{"'" + subst + "'", "a'b" + subst + "c'", "'" + subst, "''" + subst + "''", "$'" + subst + "'", `\'` + subst + `\'`, "'" + `"` + subst + `"` + "'"} {
			for _, op := range []string{":-", "-", ":=", "=", ":+", "+", ":?", "?"} {
				set := ""
				if strings.Contains(op, "+") {
					set = "x=1; "
				}
				word := "${x" + op + quoted + "}"
				list = append(list, set+`echo "`+word+`"`, set+"cat <<E\n"+word+"\nE")
			}
			list = append(list, `echo "$(( `+quoted+` ))"`, `a=(); echo "${a[`+quoted+`]}"`, `echo "${x:-${z:-`+quoted+`}}"`, "cat <<-E\n\t${x:-${z:-"+quoted+"}}\nE", `case "${x:-`+quoted+`}" in *) ;; esac`, `y="${x:-`+quoted+`}"`, `[[ "${x:-`+quoted+`}" ]]`, `for i in "${x:-`+quoted+`}"; do :; done`, `cat <<< "${x:-`+quoted+`}"`)
		}
	}
	return list
}

// backquoteSpellings nest a command in backquotes, with all numbers of
// backslashes.
func backquoteSpellings(command string) (list []string) {
	for a := range 3 {
		for b := range 8 {
			one, two := strings.Repeat(`\`, a), strings.Repeat(`\`, b)
			list = append(list,
				"echo `echo "+one+"`"+command+one+"``",
				"echo `echo "+one+"`echo "+two+"`"+command+two+"`"+one+"``",
				"echo \"`echo "+one+"`echo "+two+"`"+command+two+"`"+one+"``\"",
				"echo `echo "+two+"$("+command+")`", "echo \"`echo "+two+"\"$("+command+")"+two+"\"`\"",
				"echo `eval '"+two+"`"+command+two+"`'`", "cat <<E\n`echo "+two+"`"+command+two+"``\nE")
		}
	}
	three := strings.Repeat(`\`, 3)
	seven := strings.Repeat(`\`, 7)
	return append(list, "echo `echo \\`echo "+three+"`echo "+seven+"`"+command+seven+"`"+three+"`\\``")
}

// processSpellings put a process substitution where the parser sees text.
func processSpellings(command string) (list []string) {
	for _, subst := range []string{"<(" + command + ")", ">(" + command + ")", "a<(" + command + ")", "<(" + command + ")b"} {
		for _, form := range []string{"echo ${x:-@}", "echo ${x-@}", "echo ${x:=@}", ": ${x:=@}", "x=1; echo ${x:+@}", "x=1; echo ${x+@}", "x=abc; echo ${x#@}", "x=abc; echo ${x%%@}", "x=abc; echo ${x/@/}", "x=abc; echo ${x/b/@}", "x=abc; echo ${x//@}", "[[ x =~ @ ]]", "[[ x == @ ]]", "y=${x:-@}", "cat ${x:-@} other", "echo ${x:-${y:-@}}", "echo ${x:-\"a\"@}", "for i in ${x:-@}; do :; done", "a=(${x:-@})", "cat < ${x:-@}", "echo ${a[0]:-@}", "case ${x:-@} in *) ;; esac", `x=abc; echo "${x#@}"`, `x=abc; echo "${x%%@}"`, `x=abc; echo "${x/@/}"`, `x=abc; echo "${x//@}"`, "x=abc; cat <<E\n${x#@}\nE\n"} {
			list = append(list, strings.ReplaceAll(form, "@", subst)+"\nsleep 0.05")
		}
	}
	return list
}

// descriptorSpellings run a program by a file that is open.
func descriptorSpellings() (list []string) {
	for _, path := range []string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "//dev//stdin", "/dev/../dev/stdin", "/proc/$$/fd/0", "/proc/self/../self/fd/0", "/proc/thread-self/fd/0"} {
		list = append(list, path+" victim </bin/rm", "</bin/rm "+path+" victim", "env "+path+" victim </bin/rm", "command "+path+" victim </bin/rm", "exec "+path+" victim </bin/rm", "nice "+path+" victim </bin/rm", "timeout 5 "+path+" victim </bin/rm", "find . -maxdepth 0 -exec "+path+" victim ';' </bin/rm")
	}
	return append(list, "exec 9</bin/rm; /proc/self/fd/9 victim", "exec 9</bin/rm; /dev/fd/9 victim", "exec 9</bin/rm; cd /proc/self/fd; ./9 $OLDPWD/victim", "exec 9</bin/rm; PATH=/proc/self/fd:$PATH; 9 victim", "exec 9</bin/rm; PATH=/dev/fd 9 victim", "/dev/fd/9 victim 9</bin/rm", "{ /dev/fd/9 victim; } 9</bin/rm", "exec 9</bin/rm; d=/dev/fd; cd $d; ./9 $OLDPWD/victim",
		"exec 9</bin/rm; ln -s /dev/fd/9 q; ./q victim", "exec 9</bin/rm; ln -s /dev/fd q; q/9 victim", "exec 9</bin/rm; (cd /dev/fd && exec ./9 «DIR»/victim)", "(exec -a rm /proc/self/fd/9 victim) 9</bin/rm", "exec 9</bin/rm; bash -c '/dev/fd/9 victim'", "exec 9</bin/rm; xargs /dev/fd/9 <<< victim", "exec {fd}</bin/rm; /dev/fd/$fd victim")
}

// hookSpellings make git run a hook that the same command writes.
func hookSpellings() (list []string) {
	const body = `printf '#!/bin/sh\nrm victim\n'`
	for _, where := range []string{"git config core.hooksPath h", "git config --local core.hooksPath $PWD/h", "git config CORE.HOOKSPATH h", "git config --add core.hooksPath ./h", "git config set core.hooksPath h; git config core.hooksPath h", "true"} {
		for _, write := range []string{"mkdir h; " + body + " > h/pre-commit; chmod +x h/pre-commit", "mkdir h; cd h; " + body + " > pre-commit; chmod 755 pre-commit; cd ..", "mkdir h; " + body + " | tee h/pre-commit; chmod +x h/*", "mkdir h t; " + body + " > t/x; chmod +x t/x; mv t/x h/pre-commit", "mkdir t; " + body + " > t/pre-commit; chmod +x t/pre-commit; mv t h", "mkdir h; cp /bin/echo h/pre-commit; " + body + " > h/pre-commit", "mkdir h; " + body + " | install -m 755 /dev/stdin h/pre-commit"} {
			commit := "git commit -q --allow-empty -m x"
			if where == "true" {
				commit = "git -c core.hooksPath=h commit -q --allow-empty -m x"
			}
			list = append(list, where+"; "+write+"; "+commit, write+"; "+where+"; "+commit)
		}
	}
	return append(list, "cd .git && mkdir -p hooks && cd hooks; "+body+" > pre-commit; chmod +x pre-commit; cd ../..; git commit -q --allow-empty -m x")
}

// classFileSpellings build the name of a file with operators.
func classFileSpellings() (list []fileSpelling) {
	names := []string{
		"f=«D»/«N»x; @${f%x}", "f=«D»/«N»x; @${f%%x}", "f=x«D»/«N»; @${f#x}", "f=x«D»/«N»; @${f##x}", "f=«D»/«N»xyz; @${f%x*}", "f=«D»/«N».bak; @${f%.bak}", "f=«D»/«N».bak; @${f%.*}", "f=xx:«D»/«N»; @${f##*:}", "f=xx«D»/«N»; @${f:2}", "f=xx«D»/«N»yy; @${f:2:${#f}-4}", "f=«D»/«N»yy; @${f:0:-2}", "f=yy«D»/«N»; @${f: -«L»}", "f=«D»/«M»X«O»; @${f/X/}", "f=«D»/«M»X«O»X; @${f//X/}", "f=X«D»/«N»; @${f/#X/}", "f=«D»/«N»X; @${f/%X/}", "f=«D»/«M»Q; @${f/Q/«O»}", "f=«D»/Q; @${f/Q/«N»}", "f=«U»; @«D»/${f,,}", "f=«D»/«N»x; g=${f%x}; @$g", "f=«D»/«N»x; @\"${f%x}\"", "a=(«D»/«N»x); @${a[0]%x}", "a=(«D»/«N»x); @\"${a[@]%x}\"", "f=«D»/«M»; f+=«O»; @$f", "f=«D»/; f+=«M»; f+=«O»; @$f", "f=«M»; g=«D»; @$g/$f«O»", "f=«M»; g=$f«O»; h=«D»/$g; @$h", "set -- «D»/«N»x; @${1%x}", "f() { @${1%x}; }; f «D»/«N»x", "for f in «D»/«N»x; do @${f%x}; done", "for c in «D»/ «M» «O»; do f+=$c; done; @$f", "p=x; f=«D»/«N»x; @${f%$p}", "p=?; f=«D»/«N»x; @${f%$p}", "n=2; f=xx«D»/«N»; @${f:n}", "n=2; f=xx«D»/«N»; @${f:$n}", "f=«D»/«N»x; @${f%[x]}", "f=${y:-«D»/«N»x}; @${f%x}", "f='«D»/«M»*x'; @${f%x}", "f=«D»/«M»; g=«O»; @$f$g", "f=«D»/«N»x; @${f%\"x\"}", "f=«D»/«N»x; @${f%'x'}",
	}
	for i, g := range targets() {
		if g.writes {
			continue
		}
		programs := []string{"cat «P»", "head «P»", "grep '' «P»", "cp «P» copy", "cat < «P»", "sed -n p «P»", "awk 1 «P»", "for q in «P»; do grep . $q; done"}
		for j, n := range names {
			before, word, _ := strings.Cut(n, "@")
			after := ""
			if rest, ok := strings.CutSuffix(word, "; done"); ok {
				word, after = rest, "; done"
			} else if rest, tail, ok := strings.Cut(word, "; }"); ok {
				word, after = rest, "; }"+tail
			}
			for k, program := range programs {
				if (i+j+k)%3 != 0 {
					continue
				}
				text := before + strings.ReplaceAll(program, "«P»", word) + after
				text = strings.NewReplacer("«L»", "«LEN»", "«U»", strings.ToUpper(g.name)).Replace(text)
				text = strings.ReplaceAll(text, "«LEN»", strconv.Itoa(len(g.dir)+1+len(g.name)))
				if !strings.Contains(text, "«A»") {
					list = append(list, fileSpelling{g.fillIn(text), g})
				}
			}
		}
	}
	return list
}

// The spellings of each class are denied; a shell shows which of them have their
// effect.
func TestClasses(t *testing.T) {
	t.Parallel()
	texts := classSpellings()
	effective, passed := deniedRemovals(t, removing, texts)
	published(t, "Of %d more for classes of differences between bash and the parser "+inBash+" and %d pass.", len(texts), effective, passed)
	if effective < len(texts)/4 {
		t.Errorf("%d of %d spellings have an effect, want many more", effective, len(texts))
	}
}

func TestFileClasses(t *testing.T) {
	t.Parallel()
	list := classFileSpellings()
	effective, passed := fileTrial(t, list)
	published(t, "Of %d that make the name with operators on variables "+inBash+" and %d pass.", len(list), effective, passed)
	if effective < len(list)*3/4 {
		t.Errorf("%d of %d spellings have an effect, want most of them", effective, len(list))
	}
}

// Ordinary commands that are near to the classes are not denied.
func TestNearClasses(t *testing.T) {
	t.Parallel()
	deny := policy.MustRules("Bash(rm:*)", "Bash(git push:*)", "Read(.env)", "Read(/secrets/**)", "Edit(/infra/**)").At("/repo").Deny("no")
	for _, command := range []string{
		`echo "${x:-'none'}"`, `echo "${x//'/'/_}"`, "echo `date`", "echo \"`date +\\\"%Y\\\"`\"", "x=`basename \\`pwd\\``; echo $x", "[[ $x =~ ^(a|b)$ ]] && echo y", "[[ $x =~ ^[0-9]+(\\.[0-9]+)?$ ]] && echo y", "cat <<'E'\n$(date) `id` ${x:-'y'}\nE", "cat <<E\n${USER:-'me'}\nE",
		"f=main.go; gofmt -l ${f%.go}_test.go", `for f in *.png; do convert "$f" "${f%.png}.jpg"; done`, `for f in src/*.ts; do echo "${f##*/}"; done`, `for f in *.txt; do cp "$f" "${f%.txt}.md"; done`, `f=src/a.go; cat "${f%/*}/b.go"`, `v=v1.2.3; echo ${v#v}; git tag ${v}`, `d=$(dirname "$f"); ls "$d"`, `files=(a.go b.go); cat "${files[@]}"`,
		"cat > Dockerfile <<'EOF'\nFROM debian\nRUN apt-get update && \\\n    apt-get install -y git\nEOF", "cat <<E > run.sh\ngo test \\\n  ./...\nE",
		"git config core.hooksPath .githooks", "git config core.hooksPath .husky && git commit -m x", "git -c core.pager=cat diff > x.patch", "git clean -fdn && cp a b",
	} {
		req := bash(command)
		req.Cwd = "/repo"
		if got := decided(t, deny, req); got != "" {
			t.Errorf("%q is denied", command)
		}
	}
}

// A rule that allows a search does not allow one that follows links.
func TestAllowDoesNotFollow(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var rules []string
	for name := range strings.FieldsSeq("grep rg find ls du tree diff zip tar fd") {
		rules = append(rules, "Bash("+name+":*)")
	}
	allow := policy.MustRules(rules...).At(root).Allow()
	for _, command := range []string{"grep -R x .", "grep -nR x .", "grep --dereference-recursive x .", "grep --deref x .", "rg -L x", "rg --follow x", "rg -nL x", "find -L . -name x", "find . -follow -name x", "ls -LR", "ls -lRL .", "du -L .", "du -aL", "tree -l", "diff -r a b", "zip -r x.zip .", "tar chf x.tar .", "tar -chf x.tar .", "tar --dereference -cf x.tar .", "fd -L x"} {
		if got := decided(t, allow, bash(command)); got == permission.BehaviorAllow {
			t.Errorf("%q is allowed", command)
		}
	}
	for _, command := range []string{"grep -r x .", "grep -n x a", "rg -n x", "find . -name x", "ls -l", "du -s .", "diff a b"} {
		if got := decided(t, allow, bash(command)); got != permission.BehaviorAllow {
			t.Errorf("%q: %q, want allow", command, got)
		}
	}
}

// Hooks that are written and run by one command.
func TestHookClasses(t *testing.T) {
	t.Parallel()
	list := hookSpellings()
	slices.Sort(list)
	list = slices.Compact(list)
	run := removing
	run.prepare = func(dir string, i int, text string) error {
		if err := gitRepository(dir); err != nil {
			return err
		}
		return removing.prepare(dir, i, text)
	}
	effective, passed := deniedRemovals(t, run, list)
	published(t, "Of %d that write a hook of git and run it "+inBash+" and %d pass.", len(list), effective, passed)
	if effective < len(list)*3/4 {
		t.Errorf("%d of %d spellings have an effect, want most of them", effective, len(list))
	}
}
