package policy_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/permission/policy"
)

const (
	boundedSize = 10 << 10              // bytes of a command
	boundedTime = 50 * time.Millisecond // of one processor, for a decision about it
)

// hostileUnits are the pieces that a text repeats to keep a reader busy.
func hostileUnits() []string {
	return []string{
		"cd sub || ", "cd sub; ", "cd sub$i; ", "cd ../sub && ", "cd a/b/c/d/e/f; ", "pushd x; ", "cd $d; d=$d/a; ", "cat .en[v] ", "cat */* ", "cat ./*/../*; ", "ls /*/*/* ", "cat /proc/self/cwd/a ", "cat /proc/*/cwd/../a ", "ln -s a b; ", "ln -s . l; cat l/l/l/l; ", "ln -s a b; ln -s b c; cat c/b/c; ", "cat a/b/c/d/e ", "cat ~/a ~-/b ~1/c ", "cat $a$b$c ", "a=$a$b; b=$b$a; ", "a+=x; ", "a+=$b; b+=$a; ", "for f in $a a b c; do a=$f$f; done; ", "x={a,b}{a,b}{a,b}; ", "cat {a,b}{c,d}{e,f} ", "cat ${a%x}${b#y} ", "a=aaaaaaaaaaaaaaaaaaaaaaaa; b=${a%a*a}; ", "a=${a//a/aa}; ", "${a%*a*a*a*a*a} ", "cat a,b,c,d=e:f@g;", "--o=a:b,c=d ", "-abcdefghijk ", "touch a=b,c=d,e=f; ", "bash -c 'cd a; cat b'; ", "eval 'cd a'; ", "sh -c \"cat a\" ", "env a=b ", "xargs cat ", "find . -exec cat {} + ", "find a b c -name '*x' -exec rm {} \\; ", "`a` ", "`echo \\`a\\`` ", "$(a $(b)) ", "<(a) ", "\"${a:-'b'}\" ", "a <<E\nb\nE\n", "a|b|", "f() { cd a; }; f; ", "set -- a b c; cat $1 $2; ", "f=a/b; cat ${f##*/} ", "touch ", "touch a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,a,b,c,d,e,f,g,h; ", "touch a/b/c/d/e/f/g/h/i/j/k/l/m/n; ", "sudo ", "nice ", "timeout 5 ", "env env nice ", "python3 -c 'print(1)' ", "awk '{print $1}' ", "sed 's/a/b/' ", "perl -pe 's/a/b/' ", "HOME=a; cat ~/b; ", "OLDPWD=a; cat ~-/b; ", "CDPATH=a:b; cd c; ", "git -c a=b ", "a*b?c[d]", "**/", "?*?*", "[a-z]*/", "tar -C a -T b ", "tee a ", "> a ", "touch a; ", "touch a*b; cat *a* ", "touch -- -a; tar cf x * ", "> a; $(ls a* | cut -c2-) ", "$(ls) ", "git tag a; x=$(git tag) ", "mkdir a; cd a; $PWD ", "find . -regex '.*a\\(b\\|c\\)' -exec grep x {} + ", "fd a -x b ", "wget https://a/$b ", "2>&1 ", "'a b c d e f' ", "a=(b c d); ", "${a[@]} ", "$((a+b)) ", "((a=b)); ", "[[ a =~ b ]] && ",
	}
}

// hostileTexts are commands of the largest size that is bounded: of one unit, and
// of several that a seed puts together.
func hostileTexts(mixed int) (list []string) {
	units := hostileUnits()
	fill := func(unit string) {
		text := strings.Repeat(unit, boundedSize/len(unit))
		list = append(list, text, "cat "+text, text+"\ncat a", "touch '"+strings.ReplaceAll(text, "'", "")+"'")
	}
	for _, unit := range units {
		fill(unit)
		numbered := ""
		for i := 0; len(numbered)+len(unit)+4 < boundedSize; i++ {
			numbered += strings.Replace(unit, "a", fmt.Sprintf("a%d", i), 1)
		}
		list = append(list, numbered, numbered+"\ncat b")
	}
	rnd := rand.New(rand.NewPCG(*seed, 35))
	for range mixed {
		text := ""
		for range 2 + rnd.IntN(4) {
			text += strings.Repeat(units[rnd.IntN(len(units))], 1+rnd.IntN(40))
		}
		text = text[:min(len(text), boundedSize)]
		list = append(list, strings.Repeat(text, boundedSize/len(text)))
	}
	return list
}

// No text of ten kilobytes keeps a rule busy for longer than the bound. The work
// is counted, so the bound holds on every machine of that speed; the time here is
// that of one thread, and the least of a few, because others run beside it and the
// collector makes a thread that allocates help.
func TestBoundedTime(t *testing.T) {
	long.Test(t, "decides about hundreds of hostile commands")
	if raceEnabled {
		t.Skip("the race detector makes everything slower")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	rules := policy.MustRules("Bash(touch:*)", "Bash(a* -p *)", "Read(.env)", "Read(/secrets/**)", "Edit(/x/**)", "Read(~/.ssh/**)").At(t.TempDir())
	deny, allow := rules.Deny("no"), rules.Allow()
	type slow struct {
		took time.Duration
		text string
	}
	var worst []slow
	texts := hostileTexts(40)
	for _, text := range texts {
		took := time.Hour
		for try := 0; try < 25 && took > boundedTime/2 && (try < 5 || took > boundedTime*3/4); try++ {
			begin := threadTime()
			decided(t, deny, bash(text))
			middle := threadTime()
			decided(t, allow, bash(text))
			took = min(took, max(middle-begin, threadTime()-middle))
		}
		worst = append(worst, slow{took, text})
	}
	slices.SortFunc(worst, func(a, b slow) int { return int(b.took - a.took) })
	for _, s := range worst[:5] {
		t.Logf("%v for %.40q…", s.took, s.text)
	}
	for _, s := range worst {
		if s.took > boundedTime {
			t.Errorf("%.60q… takes %v, want at most %v", s.text, s.took, boundedTime)
		}
	}
	t.Logf("the longest of %d hostile commands of %d bytes takes %v", len(texts), boundedSize, worst[0].took)
}
