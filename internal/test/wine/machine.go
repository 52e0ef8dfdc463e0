package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed testdata/bcryptprimitives.c
var stubSource []byte

const (
	compiler = "x86_64-w64-mingw32-gcc"
	// patience is how long a step may take, on a busy machine.
	patience = 10 * time.Minute
)

// packages are what apt-get installs, by the program that is needed of each.
func packages() map[string][]string {
	return map[string][]string{"wine": {"wine", "wine64"}, compiler: {"gcc-mingw-w64-x86-64"}}
}

// machine is a Windows of wine in a folder of its own.
type machine struct {
	dir string
	env []string
}

// install installs the programs that are missing.
func install(ctx context.Context) error {
	var missing []string
	for program, names := range packages() {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, names...)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	get := []string{"apt-get"}
	if os.Geteuid() != 0 {
		get = []string{"sudo", "apt-get"}
	}
	for _, args := range [][]string{{"update", "-qq"}, append([]string{"install", "-y", "-qq", "--no-install-recommends"}, missing...)} {
		if out, err := command(ctx, nil, append(get[:len(get):len(get)], args...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// newMachine makes one in a folder: a registry, a drive, and the stub.
func newMachine(ctx context.Context, dir string) (*machine, error) {
	prefix := filepath.Join(dir, "prefix")
	m := &machine{dir: dir, env: append(os.Environ(),
		"WINEPREFIX="+prefix, "WINEDEBUG=-all", "DISPLAY=", "GOCACHE="+goEnv(ctx, "GOCACHE"), "GOMODCACHE="+goEnv(ctx, "GOMODCACHE"), "HOME="+dir,
		// The stub is taken for the library, and nothing asks for a browser or .NET.
		"WINEDLLOVERRIDES=bcryptprimitives=n;mscoree,mshtml=",
		"GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")}
	if out, err := command(ctx, m.env, "wineboot", "-i").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("wineboot: %w\n%s", err, out)
	}
	source := filepath.Join(dir, "bcryptprimitives.c")
	if err := os.WriteFile(source, stubSource, 0o600); err != nil {
		return nil, err
	}
	// Only there: beside the program it is found too late.
	stub := filepath.Join(prefix, "drive_c", "windows", "system32", "bcryptprimitives.dll")
	if out, err := command(ctx, m.env, compiler, "-shared", "-O2", "-o", stub, source, "-ladvapi32").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile the stub: %w\n%s", err, out)
	}
	return m, nil
}

// goEnv is a setting of the go command, before HOME is another one.
func goEnv(ctx context.Context, name string) string {
	out, _ := exec.CommandContext(ctx, "go", "env", name).Output()
	return strings.TrimSpace(string(out))
}

// close ends the processes that wine keeps for the machine.
func (m *machine) close(ctx context.Context) {
	_ = command(ctx, m.env, "wineserver", "-k").Run() // it may have ended
}

// demo builds claudectl and runs its demo. It returns how long the demo took.
func (m *machine) demo(ctx context.Context) (time.Duration, error) {
	program := filepath.Join(m.dir, "claudectl.exe")
	if out, err := command(ctx, m.env, "go", "build", "-trimpath", "-o", program, "./cmd/claudectl").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build claudectl: %w\n%s", err, out)
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := command(ctx, m.env, "wine", program, "demo").CombinedOutput()
	if err == nil && !bytes.Contains(out, []byte("claudectl doctor")) {
		err = errors.New("it does not end with what to do next")
	}
	if err != nil {
		return 0, fmt.Errorf("claudectl demo: %w\n%s", err, out)
	}
	return time.Since(begin), nil
}

// test runs the tests of packages, without those that would hang.
func (m *machine) test(ctx context.Context, pkgs []string, known []exception) (*results, error) {
	overlay, err := m.overlay(ctx)
	if err != nil {
		return nil, err
	}
	args := []string{"go", "test", "-json", "-count=1", "-vet=off", "-p=1", "-timeout=5m", "-exec=wine", "-overlay=" + overlay}
	var hanging []string
	for _, e := range known {
		if e.hangs {
			hanging = append(hanging, e.test)
		}
	}
	if len(hanging) > 0 {
		args = append(args, "-skip=^("+strings.Join(hanging, "|")+")$")
	}
	cmd := command(ctx, m.env, append(args, pkgs...)...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	res, err := read(out)
	failed := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](failed); ok && exit.ExitCode() == 1 {
		failed = nil // the events tell why
	}
	if err := errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("go test: %w\n%s", err, &complaint)
	}
	if len(res.outcome) == 0 {
		return nil, fmt.Errorf("go test ran nothing\n%s", &complaint)
	}
	return res, nil
}

// libraryChanges returns what the standard library is changed in, as pairs of old and new.
func libraryChanges() [][2]string {
	return [][2]string{
		// What wine returns for a way to delete that it does not know. Windows never does.
		{"case STATUS_INVALID_INFO_CLASS, //", "case NTStatus(0xC0000002), STATUS_INVALID_INFO_CLASS, //"},
		// A removed file frees its name at once, as on NTFS, even while a reader has it open.
		{"\t\treturn deleteatFallback(h)\n\tdefault:", "\t\tfreeName(dirfd, h)\n\t\treturn deleteatFallback(h)\n\tdefault:"},
		{"func Renameat(", freeName + "func Renameat("},
	}
}

const freeName = `func freeName(dirfd, h syscall.Handle) {
	var number [16]byte
	if ProcessPrng(number[:]) != nil {
		return
	}
	name := ".removed-"
	for _, b := range number {
		name += string(rune('a'+b>>4)) + string(rune('a'+b&15))
	}
	p16, err := syscall.UTF16FromString(name)
	if err != nil {
		return
	}
	info := FILE_RENAME_INFORMATION{RootDirectory: dirfd, FileNameLength: uint32((len(p16) - 1) * 2)}
	copy(info.FileName[:], p16)
	_ = NtSetInformationFile(h, &IO_STATUS_BLOCK{}, unsafe.Pointer(&info), uint32(unsafe.Sizeof(info)), 10)
}

`

// overlay writes the change of the standard library without which nothing is removed.
func (m *machine) overlay(ctx context.Context) (string, error) {
	file := filepath.Join(goEnv(ctx, "GOROOT"), "src", "internal", "syscall", "windows", "at_windows.go")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	changed := string(text)
	for _, c := range libraryChanges() {
		if strings.Count(changed, c[0]) != 1 {
			return "", fmt.Errorf("%s has changed: %q is not in it once", file, c[0])
		}
		changed = strings.Replace(changed, c[0], c[1], 1)
	}
	copied := filepath.Join(m.dir, "at_windows.go")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: copied}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(m.dir, "overlay.json")
	return name, errors.Join(os.WriteFile(copied, []byte(changed), 0o600), os.WriteFile(name, list, 0o600))
}

// command is a command that ends with its context, and with it what it has started.
func command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
