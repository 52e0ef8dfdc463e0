package policy_test

import (
	"strings"
	"testing"
)

// The CLI runs commands with the shell of its user, which may be zsh. These are
// its own ways to write "rm victim".
func zshSpellings() []string {
	return []string{
		"=rm victim", "command =rm victim", "noglob rm victim", "nocorrect rm victim", "- rm victim", "-- rm victim", "builtin command rm victim", "exec =rm victim", "command -p rm victim", "noglob nocorrect rm victim", "noglob =rm victim", "- =rm victim", "eval =rm victim", "time =rm victim", "env =rm victim", "$(whence -p rm) victim", "${commands[rm]} victim", "$commands[rm] victim", "${${:-rm}} victim", "${(e):-rm} victim", "${:-rm} victim", "${${:-xrm}#x} victim", "${(L):-RM} victim", "${(j::):-r m} victim", "${(U):-x}; rm victim", "r${:-m} victim", "$'rm' victim", "${(Q):-'rm'} victim", "${(s: :):-rm victim}", "${=:-rm victim}", "x='rm victim'; ${=x}", "x='rm victim'; $=x", "x=rm; $x victim", "x=(rm victim); $x", "x=(rm victim); ${x[@]}", "x=(a rm); $x[2] victim", "typeset -T X x; x=(rm); $X victim", "set -o shwordsplit; x='rm victim'; $x", "setopt shwordsplit; x='rm victim'; $x", "emulate sh -c 'x=\"rm victim\"; $x'", "emulate sh -c 'rm victim'", "emulate -R zsh -c 'rm victim'", "emulate ksh; x='rm victim'; $x",
		"x='$(rm victim)'; : ${(e)x}", "x='`rm victim`'; print -r -- ${(e)x}", ": ${(e):-'$(rm victim)'}", "x='$(rm victim)'; : \"${(e)x}\"", "x='$(rm victim)'; print -P \"$x\"", "setopt promptsubst; print -P '$(rm victim)'", "setopt promptsubst; x='$(rm victim)'; : ${(%%)x}", "setopt promptsubst; : ${(%%):-'$(rm victim)'}", "x='rm victim'; eval $x", "print -z rm victim; read -rz l; eval $l", "print -rz -- 'rm victim'; getln l; eval $l", "read -r l <<< 'rm victim'; eval $l", "cat =(rm victim)", "cat =(<<< x) $(rm victim)", "diff =(rm victim) =(:)", "source =(print rm victim)", ". =(<<< 'rm victim')", "zsh =(<<< 'rm victim')", "zsh <(<<< 'rm victim')", "zsh <<< 'rm victim'", "zsh -c 'rm victim'", "zsh -fc '=rm victim'", "echo 'rm victim' | zsh", "<<< 'rm victim' | zsh", "sh =(print rm victim)", "print rm victim > >(zsh); sleep 0.2",
		"print *(e:'rm victim':)", "print *(e:rm\\ victim:)", "print -r -- *(e{'rm victim'})", "print other(e:'rm victim':)", "print *(#qe:'rm victim':)", "setopt extendedglob; print *(#qe:'rm victim':)", "f() { rm victim }; print *(+f)", "f() { rm victim; }; print -r -- other(+f)", "print *(oe:'rm victim':)", "print **/*(e:'rm victim':)", "print -- *(.e:'rm victim; true':)", "for x in *(e:'rm victim':); do :; done", "ls *(e:'rm victim':) >/dev/null", "x=(*(e:'rm victim':))", "[[ -n *(#qe:'rm victim':) ]]; print other(e:'rm victim':)", "x='*(e:rm\\ victim:)'; print ${~x}", "setopt globsubst; x='*(e:rm\\ victim:)'; print $x", "case other(e:'rm victim':) in *) ;; esac; print other(e:'rm victim':)",
		"repeat 1 rm victim", "repeat 1; rm victim", "repeat 2 { rm victim }", "if [[ a == a ]] rm victim", "if [[ a == a ]] { rm victim }", "if (( 1 )) { rm victim } else { : }", "for x (1) rm victim", "for x (1) { rm victim }", "for x in 1; rm victim", "foreach x (1); rm victim; end", "foreach x (1)\nrm victim\nend", "while [[ -e victim ]] rm victim", "while [[ -e victim ]] { rm victim }", "until [[ ! -e victim ]] { rm victim }", "for ((i=0;i<1;i++)) rm victim", "for ((i=0;i<1;i++)) { rm victim }", "case a { (a) rm victim ;; }", "case a in (a|b) rm victim;; esac", "case a in a) :;| *) rm victim;; esac", "select x (a) { rm victim; break } <<< 1", "{ rm victim } always { : }", "{ : } always { rm victim }", "{ false } always { rm victim }", "() { rm victim }", "() { rm $1 } victim", "() rm victim", "function { rm victim }", "function { $@ } rm victim", "function f g { rm victim }; g", "f() rm victim; f", "function f() rm victim; f", "f g () { rm victim }; g", "f() { rm victim } always { : }; f", "time { rm victim }", "! { rm victim }", "rm victim &!", "rm victim &|\nsleep 0.2", "{ rm victim } &!\nsleep 0.2", "{ rm victim }", "( rm victim )", "coproc rm victim; wait", "coproc { rm victim }; wait", "[[ -e victim ]] && { rm victim }", "true && () { rm victim }",
		"alias q=rm; eval q victim", "alias -g Q='rm victim'; eval 'true; Q'", "alias -g Q='; rm victim'; eval 'true Q'", "alias -s txt=rm; eval victim.txt; rm victim", "alias q='rm victim'\neval q", "aliases[q]=rm; eval q victim", "galiases[Q]='; rm victim'; eval 'true Q'", "functions[q]='rm victim'; q", "functions[q]='rm $1'; q victim", "functions q; functions[q]='rm victim'; q", "functions -c q r 2>/dev/null; functions[r]='rm victim'; r", "commands[q]=/bin/rm; q victim", "hash q=/bin/rm; q victim", "hash -d q=/bin; ~q/rm victim", "q=/bin; setopt autonamedirs; hash -d q=$q; ~q/rm victim", "autoload -Uz zargs; zargs -- victim -- rm", "zargs() { :; }; autoload +X zargs 2>/dev/null; autoload -Uz zargs; zargs victim -- rm", "print 'rm victim' > q; fpath=(. $fpath); autoload q; q", "print 'rm victim' > q; fpath=($PWD); autoload -Uz q && q", "print 'rm victim' > q; autoload $PWD/q; q", "zmodload zsh/files; zf_rm victim", "zmodload -F zsh/files b:zf_rm; zf_rm victim", "zmodload zsh/files; rm victim", "zmodload -m -F zsh/files 'b:zf_*'; zf_rm victim", "zmodload zsh/sched; sched +00:00:01 'rm victim'; sleep 1.5; sched", "zmodload zsh/parameter; functions[q]='rm victim'; q", "zmodload zsh/zpty; zpty q rm victim; sleep 0.3", "zmodload zsh/system; sysopen -r -u 3 <(print 'rm victim'); source /dev/fd/3", "zmodload zsh/zselect; rm victim", "zmodload zsh/mapfile; unset 'mapfile[victim]'; rm victim",
		"TRAPEXIT() { rm victim }", "TRAPDEBUG() { rm victim }; :", "TRAPZERR() { rm victim }; false", "trap 'rm victim' EXIT", "trap 'rm victim' DEBUG; :", "TRAPUSR1() { rm victim }; kill -USR1 $$; :", "command_not_found_handler() { rm victim }; nonesuch", "precmd() { rm victim }; precmd", "periodic() { rm victim }; periodic", "chpwd() { rm victim }; cd .", "chpwd_functions=(f); f() { rm victim }; cd .", "zshexit() { rm victim }", "zshexit_functions=(f); f() { rm victim }", "preexec_functions=(f); f() { rm victim }; f", "NULLCMD='rm victim'; NULLCMD=rm; rm victim", "NULLCMD=q; q() { rm victim }; < other", "READNULLCMD=q; q() { rm victim }; < other", "PS4='$(rm victim)'; setopt promptsubst xtrace; :", "PROMPT4='$(rm victim)'; setopt promptsubst; set -x; :", "ENV='$(rm victim)' sh -c :; rm victim", "ZDOTDIR=.; print 'rm victim' > .zshenv; zsh -c :", "print 'rm victim' > .zshenv; ZDOTDIR=. zsh -c :", "print 'rm victim' > .zshenv; zsh -c :", "STTY=sane rm victim", "ARGV0=x rm victim", "path=(/bin); rm victim", "cdpath=(.); rm victim",
		"x='a[$(rm victim)]'; (( x ))", "a=(1); echo $a['$(rm victim)']", "echo $x[1,'$(rm victim)']", "x=abc; echo $x['a[$(rm victim)]']", "x=abc; echo \"$x[a[\\$(rm victim)]]\"", "(( a[$(rm victim)] ))", "x='a[$(rm victim)]'; let x", "let 'a[$(rm victim)]'", "print $(( a[$(rm victim)] ))", "x='a[$(rm victim)0]'; print $((x))", "[[ 'a[$(rm victim)]' -eq 0 ]]", "x='a[$(rm victim)]'; [[ $x -eq 0 ]]", "typeset -i x='a[$(rm victim)]'", "integer x='a[$(rm victim)]'", "float x='a[$(rm victim)]'", "x=abc; print ${x[$(rm victim)1]}", "x=abc; print ${x:$(rm victim)0}", "typeset -A h; h[$(rm victim)]=1", "unset 'a[$(rm victim)]'", "a=(1); unset 'a[$(rm victim)1]'", "print -v 'a[$(rm victim)1]' x; rm victim", "printf -v 'a[$(rm victim)1]' x", "read 'a[$(rm victim)1]' <<< x", "x='$(rm victim)'; print ${(P)x}; rm victim", "functions -M f 0 0 g; g() { rm victim }; (( f() ))", "x=rm; ${(P)${:-x}} victim", "typeset -n r=x 2>/dev/null; x=rm; $x victim", "vared -c x < /dev/null; rm victim", "zle -N x; rm victim", "bindkey -s x 'rm victim'; rm victim", "fc -p; print -s 'rm victim'; fc -e - 2>/dev/null; rm victim", "print -s rm victim; r 2>/dev/null; rm victim", "which rm >/dev/null; rm victim", "where rm >/dev/null && rm victim", "whence -p rm | read -r q; $q victim", "print -l victim | xargs rm", "<victim | rm victim", "rm victim <<< x >> out", "rm victim >! out", "rm victim >>! out", "rm victim >&! out", "rm victim &>! out", "> out < other rm victim", "rm (vic)tim", "rm vic*(.)", "rm victim(N)", "rm **/victim(.)", "rm <->(N) victim", "rm ^other(.)~x; setopt extendedglob; rm ^other(.)", "setopt extendedglob\nrm ^other", "setopt extendedglob\nrm v#ictim", "setopt cshjunkiequotes; rm victim", "setopt ignorebraces; rm victim", "setopt rcquotes; print 'a''b'; rm victim", "print ${x:-'it''s'}; rm victim", "setopt interactivecomments; print a # it's\nrm victim # isn't", "print a # it's\nrm victim # isn't'", "print a \\# b; rm victim", "print -r \"a $((1)) `rm victim`\"", "print $[1] $(rm victim)", "print ${$(rm victim):-x}", "print ${(f)\"$(rm victim)\"}", "print ${${(s. .):-a b}[1]} $(rm victim)", "print \"${${:-$(rm victim)}}\"", "print ${x:=$(rm victim)}", "print ${x::=$(rm victim)}", "print ${x:+a}${x:-$(rm victim)}", "cat <<E\n${(e):-'$(rm victim)'}\nE", "cat <<E\n$(rm victim)\nE", "cat <<'E' | zsh\nrm victim\nE", "cat <<-E\n\t`rm victim`\n\tE",
	}
}

// zshFiles are ways of zsh to name a file.
func zshFiles() []namedWay {
	var list []namedWay
	for _, word := range []string{
		"«D»/«N»(N)", "«D»/«M»*(.)", "«D»/«M»*(D)", "«D»/*(D)", "«D»/*(D.)", "**/«N»(D)", "./**/«N»", "(./)#«N»", "«D»/(«N»)", "«D»/(«N»|x)", "«D»/(#i)«N»", "«D»/«M»<->", "«D»/[«F»]*(D)", "«D»/^x(D)", "«D»/*~x(D)", "=(cat «D»/«N»)", "${:-«D»/«N»}", "${${:-«D»}}/«N»", "${(j:/:):-«D» «N»}", "«D»/${:-«N»}", "${:-«D»}/«N»(N)", "~+/«D»/«N»", "$PWD/«D»/«N»", "${PWD:A}/«D»/«N»", "«A»/«N»(:P)", "${:-«D»/«N»:a}", "sub(:h)/«D»/«N»", "sub/in(:h:h)/«D»/«N»", "$PWD:h/repo/«D»/«N»", "${PWD:h}/repo/«D»/«N»", "$0:h/«D»/«N»", "«D»/«N»(e:true:)",
	} {
		list = append(list, namedWay{"setopt extendedglob; ", word})
	}
	for _, text := range []string{"hash -d q=«A»; ~q/«N»", "q=«A»; ~q/«N»", "cd «D»; «N»", "pushd -q «D»; «N»", "cd -q «D»; «N»", "cdpath=(«A»/..); cd $(basename «A») >/dev/null; «N»", "setopt autocd; «D»/; «N»", "cd repo «D» 2>/dev/null || cd «D»; «N»", "setopt globsubst; x='«D»/«M»*'; $x", "x='«D»/«M»*'; ${~x}", "x='«D»/«M»*'; $~x", "x=(«D»/*(D)); $x", "x=(«D» «N»); $x[1]/$x[2]", "x=«D»/«N»x; ${x%x}", "typeset -A h=(a «D»/«N»); $h[a]", "set -A x «D»/«N»; $x[1]", "read x <<< «D»/«N»; $x", "x=«N»; «D»/$x", "zmodload zsh/mapfile; «D»/«N»"} {
		at := strings.LastIndex(text, "; ") + 2
		list = append(list, namedWay{text[:at], text[at:]})
	}
	return list
}

// zshForms are ways of zsh to read and to write.
func zshForms(writes bool) []string {
	if writes {
		return []string{"print x > «P»", "print x >! «P»", "print x >| «P»", "print x >>! «P»", "print x >& «P»", "print x >&! «P»", "print x &>! «P»", "print x > copy > «P»", "> «P» < notes.txt", "<<< x > «P»", "{ print x } > «P»", "() { print x } > «P»", "zmodload zsh/files; zf_rm «P»", "zmodload zsh/files; zf_mv notes.txt «P»", "zmodload zsh/mapfile; mapfile[«D»/«N»]=x", "zmodload zsh/system; sysopen -w -o creat,trunc -u 5 «P»; syswrite -o 5 x", "repeat 1 print x > «P»", "for f («P») print x > $f", "exec {fd}> «P»; print x >&$fd", "print -u3 x 3> «P»", "exec 3> «P»; print -u3 x", "noglob tee «D»/«N» <<< x", "=tee «P» <<< x", "cp =(<<< x) «P»", "autoload -Uz zargs; zargs «P» -- rm", "autoload -Uz zmv; zmv -f notes.txt «D»/«N»", "mv -f notes.txt «P»"}
	}
	return []string{"< «P»", "<«P»", "cat < «P»", "cat < notes.txt < «P»", "print -r -- \"$(<«P»)\"", "print -- ${(f)\"$(<«P»)\"}", "cat =(<«P»)", "cat <(<«P»)", "=cat «P»", "noglob cat «D»/«N»", "command =cat «P»", "read -r l < «P»; print $l", "IFS= read -rd '' l < «P»; print $l", "zmodload zsh/mapfile; print $mapfile[«D»/«N»]", "zmodload zsh/mapfile; print ${mapfile[«D»/«N»]}", "zmodload zsh/files; zf_ln «P» copy", "zmodload zsh/files; zf_mv «P» copy", "zmodload zsh/system; sysopen -r -u 5 «P»; sysread -i 5 l; print $l", "zmodload zsh/system; sysread l < «P»; print $l", "repeat 1 cat «P»", "for f («P») cat $f", "for f («P») { cat $f }", "() { cat $1 } «P»", "() { cat } < «P»", "{ cat } < «P»", "exec {fd}< «P»; cat <&$fd", "exec 3< «P»; cat <&3", "print -l «P» | xargs cat", "autoload -Uz zargs; zargs «P» -- cat", "source «P» 2>&1", "zsh «P» 2>&1", "zsh -v «P» 2>&1", "fc -R «P»; fc -l 1 2>&1; cat «P»", "READNULLCMD=cat; < «P»", "while read -r l; do print $l; done < «P»", "print *(e:'cat «D»/«N»':)", "cat «P»(N)"}
}

func zshFileSpellings() (list []fileSpelling) {
	for i, g := range targets() {
		forms, short := zshForms(g.writes), []string{"cat «P»", "< «P»", "cp «P» copy"}
		if g.writes {
			short = []string{"print x >! «P»", "rm «P»", "tee «P» <<< x"}
		}
		add := func(c string) { list = append(list, fileSpelling{g.fillIn(c), g}) }
		for j, form := range forms {
			if j%2 == i%2 {
				add(namedWay{"", "«D»/«N»"}.put(form))
			}
		}
		for j, n := range zshFiles() {
			if j%2 == i%2 {
				add(n.put(short[j%len(short)]))
			}
		}
	}
	return list
}

// TestZshNumbers measures for zsh what the tests before measure for bash.
func TestZshNumbers(t *testing.T) {
	t.Parallel()
	texts := zshSpellings()
	run := removing
	run.shell = []string{"zsh", "-fc"}
	effective, passed := deniedRemovals(t, run, texts)
	files := zshFileSpellings()
	reached, through := fileTrial(t, files, "zsh", "-fc")
	all := len(texts) + len(files)
	if effective+reached < all*3/4 {
		t.Errorf("%d of %d spellings have an effect, want most of them", effective+reached, all)
	}
	published(t, "Of %d spellings that only zsh has, for commands and for files, %d have the effect in zsh, and %d pass.", all, effective+reached, passed+through)
}
