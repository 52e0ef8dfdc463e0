package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// The CLI trims paths: blanks around one must not hide where it leads.
func TestPaddedPaths(t *testing.T) {
	root := t.TempDir()
	for _, p := range []string{" /etc/passwd", "\t/etc/passwd", "\u00a0/etc/passwd", "\ufeff/etc/passwd", "\u2003/etc", "\n/etc", " ~/x", "~root/x", "a "} {
		for tool, member := range map[string]string{"Read": "file_path", "Grep": "path", "Glob": "path", "Write": "file_path", "LSP": "filePath"} {
			req := request(tool, map[string]string{member: p, "pattern": "x"})
			req.Cwd = root
			if got := decided(t, policy.Confine(root), req); got != "deny" {
				t.Errorf("Confine %s %q: %q, want deny", tool, p, got)
			}
			if got := decided(t, policy.MustRules("Read(/**)", "Edit(/**)").At(root).Allow(), req); got != "" {
				t.Errorf("Allow %s %q: %q, want no opinion", tool, p, got)
			}
			if got := decided(t, policy.MustRules("Read(//etc/**)", "Edit(//etc/**)").At(root).Deny("no"), req); p[0] != '~' && got != "deny" {
				t.Errorf("Deny %s %q: %q, want deny", tool, p, got)
			}
		}
	}
	for _, pattern := range []string{" /etc/*", "\ufeff/etc/*", "* "} {
		req := request("Glob", map[string]string{"pattern": pattern})
		req.Cwd = root
		if got := decided(t, policy.Confine(root), req); got != "deny" {
			t.Errorf("Confine the pattern %q: %q, want deny", pattern, got)
		}
	}
}

// The pattern of a search also counts for rules.
func TestGlobRules(t *testing.T) {
	root := t.TempDir()
	for _, tt := range []struct {
		pattern      string
		allow, denys permission.Behavior
	}{
		{"*.go", "allow", ""},
		{"/etc/*", "", "deny"},
		{"../*", "", ""},
	} {
		req := request("Glob", map[string]string{"path": filepath.Join(root, "sub"), "pattern": tt.pattern})
		if got := decided(t, policy.MustRules("Read(/sub/**)").At(root).Allow(), req); got != tt.allow {
			t.Errorf("%s: allow %q, want %q", tt.pattern, got, tt.allow)
		}
		if got := decided(t, policy.MustRules("Read(//etc/**)").At(root).Deny("no"), req); got != tt.denys {
			t.Errorf("%s: deny %q, want %q", tt.pattern, got, tt.denys)
		}
	}
	if got := decided(t, policy.MustRules("Read(/sub/**)").At(root).Allow(), request("LSP", map[string]string{"filePath": root + "/sub/a.go"})); got != "allow" {
		t.Errorf("LSP: %q", got)
	}
}

func TestDenyBypasses(t *testing.T) {
	deny := policy.MustRules("Bash(rm:*)").Deny("no")
	for _, command := range []string{
		"echo ok # it's\nrm -rf x # isn't", "#'\nrm x #'", "echo `#'`; rm x #'",
		"cat <<'EOF'\nit's\nEOF\nrm -rf x\ncat <<'EOF'\nit's\nEOF", "bash <<E\nrm x\nE",
		`$"rm" -rf x`, "<&0 rm -rf x", "<&- rm -rf x", ">&2 rm x", ">|f rm x", "&>f rm x", "<<<a rm x",
		"{rm,-rf,x}", "r{m,} x", "{r,}m x", "env {rm,x}", "sudo r{m,} x", "A=1 {rm,x}",
		"coproc rm -rf x", "bash -ce 'rm -rf x'", "bash -c -- 'rm -rf x'", "bash -ec -o pipefail 'true; rm x'",
		"trap 'rm -rf x' EXIT", "trap -- 'true; rm x' 0", "alias x='rm y'", "env -S'rm y'", "env -S 'rm y'", "env -iS'rm y'", "env --split-string='rm y'",
		"su -c 'true; rm x'", "watch 'true; rm x'", "flock f -c 'true && rm x'", "bash -c 'rm x\necho \"'",
		"echo \"$\\\n(rm x)\"", "echo \\\\\nrm x", "r\\\nm x", "rm${x} y", "ls |& rm x",
		"perl -ne 'print if /a/ x m;s/a;;system lc \"RM victim\";#/c/' f", "perl -ie print", "perl -pie 's/a/b/' f", "perl -F'/x/,system(lc\"RM victim\")' -ane print f",
		"ruby -e 'puts <<a\n\"\na\nsystem \"r\" \"m victim\"\nputs <<a\n\"\na'", "ruby -e 'puts \"\n\"'", "ruby -e 'p <<a\n1\na'",
		"ln -s /bin/rm x; gdb -batch -ex 'run victim' ./x", "gdb -batch -ex shell", "gdb -batch -ex make", "gdb -batch -ex edit", "gdb -batch -ex run ./x", "gdb -batch -ex r ./x", "gdb -batch -ex start ./x", "gdb -batch -ex continue ./x",
		"gdb -batch -ex 'run victim' --args ./x", "gdb -batch -ex run ./y --args ./x", "gdb -batch -ex \"$x\" ./x", "gdb ./x <<< 'run victim'", "gdb -batch -ex 'thread apply all shell x'", "gdb -batch -ex run --args rm victim", "gdb $x",
		"jobs -x rm victim", "jobs -x perl -e 'system lc \"RM victim\"'", "install -s --strip-program=rm f victim", "install -s --strip-p rm f victim", "service ../../bin/rm victim",
		"npx --call='$(echo r)m victim'", "npm exec --call='$(echo r)m victim'", "npx --cal='$(echo r)m victim'", "npm exec --call '$(echo r)m victim'", "script --comm '$(echo r)m victim' f", "script --c='$(echo r)m victim' f", "su --session-command='$(echo r)m victim'", "su --comman='$(echo r)m victim'",
		"git rebase -qx 'rm victim' HEAD~1", "git rebase --ex 'rm victim' HEAD~1", "git rebase --ex='rm victim' HEAD~1", "git grep -lO'rm victim;:' x", "git grep --ope='rm victim;:' x", "git fetch --upl='rm victim;:' .", "git push --e='rm victim;:' .", "git clone -qu 'rm victim;:' . y",
		"git rebase '--exec=true\nrm victim' HEAD~1", "git grep '-Otrue\nrm victim;:' x", "su '--command=true\n$(echo r)m victim'", "script -q '-ctrue\n$(echo r)m victim' f", "php '-rtrue;\nsystem(strtolower(\"RM victim\"));' x",
		"php -r'system(strtolower(\"RM victim\"));'", "lua -e'os.execute((\"RM victim\"):lower())'", "git config --rename-section a alias", "git config rename-section a alias", "git config --rename-s a alias",
		"cat <\\\n<E\nx\nE", "cat <<'A'\nx\\\nA\ncat <<B\nB\\\n\nrm victim\nB\nA",
		"echo ${#x}; rm -rf y", "xargs -I{} rm {}", "find . -exec rm {} +", "echo $((1#2)) ; rm x",
	} {
		if got := decided(t, deny, bash(command)); got != permission.BehaviorDeny {
			t.Errorf("%q: %q, want deny", command, got)
		}
		if got := decided(t, deny, request("Monitor", map[string]string{"command": command})); got != permission.BehaviorDeny {
			t.Errorf("Monitor %q: %q, want deny", command, got)
		}
	}
	for _, command := range []string{
		"echo it # it's fine\nls", "ls # rm x", "xargs -I{} echo {}", "mkdir -p src/{a,b}", "git show HEAD@{1}", "awk '{print $1, $2}' f",
		"echo a,b", "{ echo ${x}y; }", "echo ${x}y", "f() { ls; }; f", "git commit -m 'rm the file'", "bash x.sh", "trap - EXIT", "env A='it is' ls", "find . -name '*.go'", "ls 2>&1 >/dev/null",
		"perl -ne 'print if /x/'", "perl -ne 'print if /x/i ; s/a/b/g'", "perl -F: -ane print f", "ruby -e 'puts 1'", "php -v", "Rscript evaluate.R", "gdb -batch -ex bt", "gdb -batch -ex 'info threads' -ex 'thread apply all bt' -p $(pgrep app)", "gdb -batch -ex run -ex bt --args ./app --port 8080",
		"jobs", "jobs -l", "jobs %1", "service nginx restart", "install -s -m 755 \"$x\" bin", "npx prettier --check .", "npx eslint --cache --config x.js .", "git push -u origin \"$(git branch --show-current)\"", "git rebase --continue", "git commit -am\"fix $x\"", "git clone -q \"$x\"", "git -C d for-each-repo --config=a.b fetch",
		"cat <<E\nx\nE", "ls \\\n-l", "cat \\\nf <<< x",
	} {
		if got := decided(t, deny, bash(command)); got != "" && command != "ls # rm x" {
			t.Errorf("%q: %q, want no opinion", command, got)
		}
	}
}

// Programs that start another one, or git itself, must not hide a subcommand.
func TestDenySubcommandBypasses(t *testing.T) {
	deny := policy.MustRules("Bash(git push:*)").Deny("no")
	for command, want := range map[string]permission.Behavior{
		"gdb -batch -ex 'run push' /usr/bin/git": "deny", "gdb -batch -ex run --args git push": "deny", "jobs -x git push": "deny",
		"git -c a.b=. for-each-repo --config=a.b push": "deny", "git for-each-repo --config a.b push": "deny", "git for-each-repo --config=a.b -- -C . push": "deny",
		"git for-each-repo --config=a.b fetch": "", "git for-each-repo --config a.b stash push": "", "gdb -batch -ex bt /usr/bin/git core": "",
	} {
		if got := decided(t, deny, bash(command)); got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

func TestDenyByName(t *testing.T) {
	for _, tt := range []struct {
		rule         string
		req          *permission.Request
		allow, denys permission.Behavior
	}{
		{"*", bash("ls"), "", "deny"},
		{"B*", bash("ls"), "", "deny"},
		{"B*", request("Read", struct{}{}), "", ""},
		{"mcp__*", request("mcp__a__b", struct{}{}), "", "deny"},
		{"mcp__a*", request("mcp__a__b", struct{}{}), "", "deny"},
		{"mcp__a__*", request("mcp__a__b", struct{}{}), "allow", "deny"},
		{"Bash", request("Monitor", struct{}{}), "", "deny"},
		{"Bash(ls)", request("Monitor", map[string]string{"command": "ls"}), "", "deny"},
		{"Monitor", request("Monitor", map[string]string{"command": "ls"}), "allow", "deny"},
		{"Agent(general-purpose)", request("Agent", struct{}{}), "", "deny"},
		{"WebFetch(domain:*.go.dev)", fetch("https://pkg.go.dev/x?y=ü"), "allow", "deny"},
		{"WebFetch(domain:*.go.dev)", fetch("https://go.dev/"), "", ""},
		{"WebFetch(domain:go.dev)", fetch("http:///go.dev/a"), "", "deny"},
		{"WebFetch(domain:go.dev)", fetch("http:go.dev/a"), "", "deny"},
		{"WebFetch(domain:go.dev)", fetch("http:/go.dev/a"), "", "deny"},
		{"WebFetch(domain:go.dev)", fetch(`http:\\go.dev\a`), "", "deny"},
		{"WebFetch(domain:go.dev)", fetch(`http://evil.org\@go.dev/`), "", "deny"},
		{"WebFetch(domain:go.dev)", fetch("http://go.dev./"), "", "deny"},
		{"WebFetch(domain:go.dev)", fetch("http://ｇo.dev/"), "", "deny"},
		{"WebFetch(domain:go.dev)", fetch("http://g%6f.dev/"), "", "deny"},
		{"WebFetch(domain:go.dev)", fetch(" http://go.dev/"), "", "deny"},
		{"WebFetch(domain:go.dev)", fetch("https://go.dev@evil.org/"), "", "deny"},
		{"WebFetch(domain:127.0.0.1)", fetch("http://0x7f.1/"), "", "deny"},
		{"WebFetch(domain:127.0.0.1)", fetch("http://127.0.0.2/"), "", ""},
		{"WebFetch(domain:127.0.0.1)", fetch("http://127.0.0.1:80/"), "allow", "deny"},
	} {
		rules := policy.MustRules(tt.rule)
		if got := decided(t, rules.Allow(), tt.req); got != tt.allow {
			t.Errorf("%s: allows %s %s: %q, want %q", tt.rule, tt.req.ToolName, tt.req.Input, got, tt.allow)
		}
		if got := decided(t, rules.Deny("no"), tt.req); got != tt.denys {
			t.Errorf("%s: denies %s %s: %q, want %q", tt.rule, tt.req.ToolName, tt.req.Input, got, tt.denys)
		}
	}
}

func fetch(url string) *permission.Request {
	return request("WebFetch", map[string]string{"url": url})
}

// Rules for files deny shell commands that name such a file.
func TestDenyFilesOfCommands(t *testing.T) {
	root := t.TempDir()
	t.Setenv("HOME", filepath.Join(root, "home"))
	if err := os.Mkdir(filepath.Join(root, "secret"), 0o700); err != nil {
		t.Fatal(err)
	}
	link(t, filepath.Join(root, "secret"), filepath.Join(root, "alias"))
	for _, tt := range []struct {
		command    string
		read, edit permission.Behavior
	}{
		{"cat secret/a", "deny", ""},
		{"cat ./alias/a", "deny", ""},
		{"cat < secret/a", "deny", ""},
		{"ls secret", "deny", ""},
		{"cat " + root + "/secret/a", "deny", ""},
		{"cat ~/../secret/a", "deny", ""},
		{"cat $HOME/../secret/a", "deny", ""},
		{"cp secret/a z", "deny", "deny"},
		{"sed -i s/a/b/ secret/a", "deny", "deny"},
		{"sudo rm secret/a", "deny", "deny"},
		{"echo x > secret/b", "deny", "deny"},
		{"cd secret && touch a", "deny", "deny"},
		{"bash -c 'touch secret/a'", "deny", "deny"},
		{"x --file=secret/a", "deny", ""},
		{"secret/run.sh", "deny", ""},
		{"ln -s . l; cat l/secret/a", "deny", ""},
		{"ln -s . l; touch l/secret/a", "deny", "deny"},
		{"fmt /proc/self/cwd/secret/a", "deny", ""},
		{"rm /dev/fd/../cwd/secret/a", "deny", "deny"},
		{"find . -name a -delete", "deny", "deny"},
		{"find sub -name a -delete", "", ""},
		{"find . -type f -exec cat {} +", "deny", ""},
		{"find . -name '*.go' -exec cat {} +", "deny", ""}, // one may be in secret
		{"find sub -name '*.go' -exec cat {} +", "", ""},
		{"printf sec%s/a ret | xargs cat", "deny", ""},
		{"grep -rl x sub | xargs sed -i s/x/y/", "", ""},
		{"HOME=$PWD/secret; cd; fmt a", "deny", ""},
		{"awk '{print > \"secret/a\"}' x", "deny", "deny"},
		{"openssl rand -out secret/a 4", "deny", "deny"},
		{"sort -uo$f x", "deny", "deny"}, // it may be any file
		{"fmt ali[a]s/a", "deny", ""},
		{"f='sec*/a'; grep x $f", "deny", ""},
		{"diff <(sort a.txt) <(sort b.txt)", "", ""},
		{"go test ./...", "", ""},
		{"cat secrets/a", "", ""},
	} {
		if got := decided(t, policy.MustRules("Read(/secret/**)").At(root).Deny("no"), bash(tt.command)); got != tt.read {
			t.Errorf("Read, %q: %q, want %q", tt.command, got, tt.read)
		}
		if got := decided(t, policy.MustRules("Edit(/secret/**)").At(root).Deny("no"), bash(tt.command)); got != tt.edit {
			t.Errorf("Edit, %q: %q, want %q", tt.command, got, tt.edit)
		}
	}
}

// A command that names more files than can be checked is denied by rules for
// files, and only by them.
func TestDenyManyFiles(t *testing.T) {
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, "a%d ", i)
	}
	for rule, want := range map[string]permission.Behavior{"Read(/secret/**)": "deny", "Bash(rm:*)": ""} {
		if got := decided(t, policy.MustRules(rule).Deny("no"), bash(b.String())); got != want {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
}

// Calls that the CLI asks about whatever its rules allow are not allowed here
// either.
func TestAllowLeavesSafety(t *testing.T) {
	root := t.TempDir()
	outside := t.TempDir()
	link(t, outside, filepath.Join(root, "out"))
	allow := policy.MustRules("Bash(touch:*)", "Bash(rm:*)", "Bash(cd:*)", "Bash(find:*)", "Bash(go:*)", "Bash(git:*)", "Edit(/**)").At(root).Allow()
	for command, want := range map[string]permission.Behavior{
		"touch a": "allow", "touch " + root + "/a": "allow", "go test ./...": "allow", "cd sub": "allow", "find . -name x": "allow",
		"git commit -m 'Fix it.'": "allow", "touch a > /dev/null 2>&1": "allow", "touch a 2>&1 | touch b": "allow", "touch é": "allow",
		"touch " + outside + "/x": "", "touch ../x": "", "touch a/../../x": "", "touch ~/.bashrc": "", "touch ~root/x": "", "touch out/x": "",
		"touch .git/hooks/x": "", "touch .GIT/x": "", "touch -r/etc/x y": "", "touch --reference=/etc/x y": "", "touch =ls": "", "touch a.": "",
		"touch 'a\n#b'": "", "\u00a0touch a": "", "\vtouch a": "", "touch a\x7f": "", "touch a\u200b": "",
		"touch a &>/dev/null b": "", "touch a >/dev/null b": "", "touch a &>&1 rm x": "", "touch a 2>&1rm": "",
		"rm -rf ~": "", "rm -rf .": "", "rm -rf " + root: "", "rm -rf /": "", "cd /x && touch x": "", "cd .git && git status": "", "cd": "",
		"find . -delete": "", "find . -exec touch x +": "",
	} {
		if got := decided(t, allow, bash(command)); got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
	for path, want := range map[string]permission.Behavior{
		"a": "allow", ".env": "allow", ".gitignore": "allow", ".config/x": "allow",
		".git/hooks/x": "", "sub/.claude/settings.json": "", ".MCP.json": "", ".bashrc": "", "a.": "", "x~1": "", ".config/git/config": "",
	} {
		req := request("Write", map[string]string{"file_path": filepath.Join(root, path)})
		if got := decided(t, allow, req); got != want {
			t.Errorf("Write %s: %q, want %q", path, got, want)
		}
		if got := decided(t, policy.MustRules("Write").At(root).Allow(), req); got != want {
			t.Errorf("Write %s by the rule for all of it: %q, want %q", path, got, want)
		}
	}
	for _, tt := range []struct {
		reason, blocked string
		want            permission.Behavior
	}{
		{"", "", "allow"},
		{"other", "", "allow"}, // every command that no rule of the CLI allows
		{"", root + "/a", "allow"},
		{"", outside + "/a", ""},
		{"", "~root/a", ""},
		{"safetyCheck", "", ""},
	} {
		req := bash("touch a")
		req.ReasonType, req.BlockedPath = tt.reason, tt.blocked
		if got := decided(t, allow, req); got != tt.want {
			t.Errorf("asked because of %q %q: %q, want %q", tt.reason, tt.blocked, got, tt.want)
		}
	}
	req := bash("anything")
	req.ReasonType = "safetyCheck"
	if got := decided(t, policy.MustRules("Bash").Allow(), req); got != "" {
		t.Errorf("a safety check and a rule for all of Bash: %q, want no opinion", got)
	}
}
