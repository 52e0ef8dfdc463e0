package policy_test

import (
	"testing"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// Starters read their options as programs do, and files that are written and run
// are noticed: some of the findings of the attacks, here without a shell. The
// second list holds commands that people write.
func TestStarters(t *testing.T) {
	deny := policy.MustRules("Bash(rm:*)").Deny("no")
	for _, command := range []string{
		`timeout -k1s 5 "$(echo rm)" victim`, `env -uC "$(echo rm)" victim`, `timeout --signal KILL 5 "$(echo rm)" victim`, `bash -Oc extglob '$(echo r)m victim'`, `script -q /dev/null -c "$(echo rm) victim"`,
		`x=s; printf 'r""m victim' > $x$y; sh s`, `printf 'r""m victim' > s$y; sh s1`, `env cp /bin/r[m] q; ./q victim`, `sort -os <<< 'r""m victim'; sh s`, `find /bin/ -name 'r[m]' -exec cp {} q ';'; ./q victim`,
		`perl -pe 's/x/$x[system q(r).q(m victim)]/' f`, `perl -Xe 'system "r"."m victim"'`, `awk 'BEGIN{x=/"/; c="r" "m victim"; print|c; y="/"}'`, `python3 -c "import uuid; uuid._get_command_stdout('r'+'m','victim')"`,
		`python3 - x <<< 'import os; os.system("r"+"m victim")'`, `perl - x <<< 'system "r"."m victim"'`,
		`node -e 'let k="getBuiltinMod".concat("ule"); process[k]'`, `sed --expr='1e $(echo r)m victim' p`, `vim -es -c '!$(echo r)m victim'`, `git -c alias.q='!$(echo r)m' q victim`, `declare 'x=a[$(r""m victim)]'; echo $((x))`,
	} {
		if got := decided(t, deny, bash(command)); got != permission.BehaviorDeny {
			t.Errorf("passes: %q", command)
		}
	}
	alarms := 0
	ordinary := []string{
		"timeout 60 go test ./...", "timeout -k 5 60 npm test", "timeout --preserve-status 30 make check", "env -i PATH=/usr/bin make", "env FOO=bar BAZ=1 go run ./cmd/x", "nice -n 10 go build ./...", "nohup npm start > out.log 2>&1 &", "stdbuf -oL tail -f app.log",
		"xargs -n1 -P4 go vet", "git ls-files | xargs grep -n TODO", "find . -name '*.log' -print0 | xargs -0 gzip", "ls *.txt | xargs -I{} cp {} backup/", "git diff --name-only | xargs gofmt -l", "find . -name '*.sh' -exec shellcheck {} +", "find . -type f -exec chmod 644 {} +",
		"sqlite3 app.db .tables", "sqlite3 app.db 'select * from users limit 5'", "psql -h localhost -c 'select version()'", "mysql -u root -e 'show databases'", "tmux ls", "gdb --version", "vim main.go",
		"git config user.name", "git config --get remote.origin.url", "git config --global user.email me@example.org", "git config core.autocrlf input", "git -c color.ui=always diff", "git -c user.name=x commit -m y", "git log --author=\"$USER\"", "git tag \"v$(cat VERSION)\"", "git push origin \"$(git branch --show-current)\"",
		"perl -pe 's/foo/bar/g' f.txt", "perl -i.bak -pe 's/(\\d+)/<$1>/' f.txt", "perl -ne 's/a$/b/' f", "sed -E 's/([a-z]+)/\\1/g' f", "sed -n '5,10p' f", "sed -i.bak -e 's/x/y/' f", "awk '{print $NF}' f", "awk -F, '{s+=$2} END{print s}' f.csv", "awk '/start/,/end/' f", "awk 'length($0) > 80' f", "awk '{a[$1]++} END{for(k in a) print k, a[k]}' f",
		"python3 -c 'import sys; print(sys.version)'", "python3 -c 'import json; print(json.dumps({\"a\": 1}))'", "python3 -m pytest -q", "python3 -m venv env", "python3 setup.py build", "node -e 'console.log(1+1)'", "node -p 'process.version'", "node --test", "NODE_OPTIONS=--max-old-space-size=4096 npm run build",
		"gcc -O2 -o prog main.c && ./prog", "go build -o app ./cmd/app && ./app --help", "make && ./bin/server -h", "echo hello > out.txt && cat out.txt", "chmod +x run.sh && ./run.sh", "tar xzf release.tgz && cd release && ./configure && make", "cat <<'EOF' > config.yaml\na: 1\nEOF\nkubectl apply -f config.yaml",
		"tar czf backup.tgz src", "tar -xvf x.tar -C out", "zip -r out.zip dist", "ssh host uptime", "scp build.tgz host:/tmp/", "docker compose up -d", "npm exec tsc -- --noEmit", "npx eslint .", "man git-log | head", "less README.md", "for f in *.go; do gofmt -l \"$f\"; done", "x=$((1 + 2)); echo $x", "declare -a list=(a b c); echo ${list[0]}", "read -r line < f; echo \"$line\"",
	}
	for _, command := range ordinary {
		if got := decided(t, deny, bash(command)); got != "" {
			alarms++
			t.Logf("denied by mistake: %q", command)
		}
	}
	t.Logf("%d of %d ordinary commands are denied", alarms, len(ordinary))
	if 100*alarms > 3*len(ordinary) {
		t.Errorf("%d of %d ordinary commands are denied, want at most 3 %%", alarms, len(ordinary))
	}
}
