package realcli

import (
	"path/filepath"
	"runtime"
)

// platform names this system as the npm packages do.
func platform() string {
	system, arch := runtime.GOOS, runtime.GOARCH
	if system == "windows" {
		system = "win32"
	}
	if arch == "amd64" {
		arch = "x64"
	}
	name := system + "-" + arch
	if system == "linux" && musl() {
		name += "-musl"
	}
	return name
}

// binaryName is the file in a platform package.
func binaryName() string {
	if runtime.GOOS == "windows" {
		return "claude.exe"
	}
	return "claude"
}

// musl reports whether the C library of this Linux is musl, for which there
// are binaries of their own.
func musl() bool {
	found, _ := filepath.Glob("/lib/ld-musl-*")
	glibc, _ := filepath.Glob("/lib*/ld-linux*")
	return len(found) > 0 && len(glibc) == 0
}
