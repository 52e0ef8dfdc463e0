// Package platform lists the systems that the modules support: the types of all packages
// are checked there, and releases have programs for them.
package platform

// Platform is an operating system and an architecture, by Go's names.
type Platform struct{ OS, Arch string }

// String returns both, as in linux/amd64.
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Supported returns all of them, always in the same order. The caller may keep and
// change the list.
func Supported() []Platform {
	all := []Platform{{"linux", "386"}, {"linux", "arm"}}
	for _, os := range []string{"linux", "darwin", "windows", "freebsd"} {
		for _, arch := range []string{"amd64", "arm64"} {
			all = append(all, Platform{os, arch})
		}
	}
	return all
}
