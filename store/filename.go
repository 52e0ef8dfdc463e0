package store

import "strings"

// File systems allow different names: some ignore case, some refuse characters
// or names of devices. Names of files are therefore made of lower case letters,
// digits, "-", "_" and "^", which begins a pair that stands for another
// character: "^a" for A, "^0" and up for the characters of escapes, "^^" before
// a name that would be that of a device.

// escapes are the characters that "^0", "^1" and so on stand for.
const escapes = ".@+=:,~"

// fileName returns the name of the file for a name.
func fileName(name string) string {
	var b strings.Builder
	if device(name) {
		b.WriteString("^^")
	}
	for i := range len(name) {
		c := name[i]
		if j := strings.IndexByte(escapes, c); j >= 0 {
			b.WriteByte('^')
			c = '0' + byte(j)
		} else if c >= 'A' && c <= 'Z' {
			b.WriteByte('^')
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}

// fromFileName is the inverse of fileName; it returns false for a file that
// fileName did not name.
func fromFileName(file string) (string, bool) {
	var b strings.Builder
	rest := strings.TrimPrefix(file, "^^")
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		if c == '^' {
			if i++; i == len(rest) {
				return "", false
			}
			switch c = rest[i]; {
			case c >= 'a' && c <= 'z':
				c -= 'a' - 'A'
			case c >= '0' && int(c-'0') < len(escapes):
				c = escapes[c-'0']
			}
		}
		b.WriteByte(c)
	}
	name := b.String()
	return name, checkName("file", name) == nil && fileName(name) == file
}

// filePath is fileName for each part of a path.
func filePath(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = fileName(p)
	}
	return strings.Join(parts, "/")
}

// fromFilePath undoes filePath.
func fromFilePath(file string) (string, bool) {
	parts := strings.Split(file, "/")
	for i, p := range parts {
		name, ok := fromFileName(p)
		if !ok {
			return "", false
		}
		parts[i] = name
	}
	return strings.Join(parts, "/"), true
}

// device reports whether Windows reads a name as that of a device.
func device(name string) bool {
	name, _, _ = strings.Cut(strings.ToUpper(name), ".")
	switch name {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(name) == 4 && (name[:3] == "COM" || name[:3] == "LPT") && name[3] >= '0' && name[3] <= '9'
}
