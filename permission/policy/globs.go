package policy

import (
	"slices"
	"strings"
	"unicode"
)

// The globs of a Grep are read twice: here and by ripgrep. A difference would print a
// secret, so this file reads only what both read alike. Any other glob selects all files,
// and excludes none.

// splitGlobs divides the glob of a call as the CLI does: at JavaScript's white space, and
// at commas unless a word has braces.
func splitGlobs(text string) (globs []string) {
	for _, word := range strings.FieldsFunc(text, scriptSpace) {
		if strings.Contains(word, "{") && strings.Contains(word, "}") {
			globs = append(globs, word)
			continue
		}
		for one := range strings.SplitSeq(word, ",") {
			if one != "" {
				globs = append(globs, one)
			}
		}
	}
	return globs
}

// scriptSpace reports whether \s of JavaScript fits a character. Unlike Go's white space
// it has the byte order mark, and lacks U+0085.
func scriptSpace(r rune) bool {
	return r == '\ufeff' || r != '\u0085' && unicode.IsSpace(r)
}

// braces returns the globs that one with a single pair of braces stands for, and what is
// in and behind the braces. It is not ok for other braces, nor for a pair without a comma.
func braces(glob string) (all []string, middle, end string, ok bool) {
	front, rest, found := strings.Cut(glob, "{")
	if !found {
		return []string{glob}, "", "", !strings.Contains(glob, "}")
	}
	middle, end, found = strings.Cut(rest, "}")
	if !found || !strings.Contains(middle, ",") || strings.ContainsAny(front+middle+end, "{}") {
		return nil, "", "", false
	}
	for one := range strings.SplitSeq(middle, ",") {
		all = append(all, front+one+end)
	}
	return all, middle, end, true
}

// selected returns what a glob that selects may fit, below the folder that is searched.
// What ripgrep ties to that folder counts in every folder here.
func selected(glob string) (list [][]step) {
	everything := [][]step{{{kind: stepText}}}
	// ripgrep has rules of its own for two stars next to braces.
	all, middle, end, ok := braces(glob)
	if !ok || strings.Contains(middle+end, "**") {
		return everything
	}
	for _, one := range all {
		one = strings.TrimPrefix(one, "/")
		if !plainSelect(one) {
			return everything
		}
		steps, err := translate(one)
		if err != nil {
			return everything
		}
		list = append(list, slices.Concat(anyDirectories(), bytewise(steps)))
	}
	return list
}

// bytewise returns steps in which a question mark is a byte, as in ripgrep: several may
// stand for one character.
func bytewise(steps []step) (list []step) {
	for _, s := range steps {
		if s.kind == stepNotSet {
			list = append(list, step{kind: stepMaybe, skip: 1})
		}
		list = append(list, s)
	}
	return list
}

// plainSelect reports whether translate reads a glob as ripgrep does, or more broadly.
// It may have sets, but of letters and digits only.
func plainSelect(glob string) bool {
	for rest := glob; rest != ""; rest = rest[1:] {
		if rest[0] == '[' {
			set, _, ok := strings.Cut(rest[1:], "]")
			if !ok || set == "" || strings.ContainsFunc(set, func(r rune) bool { return r > 0x7f || !isLetter(byte(r)) }) {
				return false
			}
			rest = rest[len(set)+1:]
			continue
		}
		if !plainByte(rest[0]) && !strings.ContainsRune("?@+", rune(rest[0])) {
			return false
		}
	}
	return !slices.ContainsFunc(strings.Split(glob, "/"), func(name string) bool { return name == "" || name == "." || name == ".." })
}

// plainByte reports whether a byte may be in a glob that excludes.
func plainByte(b byte) bool {
	return isLetter(b) || strings.IndexByte("._-*/", b) >= 0
}

// exclusion returns the glob with which ripgrep leaves out all that a path with stars
// fits, in whatever case if that is asked for: its globs heed the case. The path begins
// with **/ or with a slash. Without such a glob it is not ok.
func exclusion(path string, anyCase bool) (glob string, ok bool) {
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if name == "" || name == "." || name == ".." || name != "**" && strings.Contains(name, "**") {
			return "", false
		}
	}
	var out strings.Builder
	for i := range len(path) {
		b := path[i]
		if !plainByte(b) {
			return "", false
		}
		if lower := b | 0x20; anyCase && 'a' <= lower && lower <= 'z' {
			out.Write([]byte{'[', lower, lower &^ 0x20, ']'})
			continue
		}
		out.WriteByte(b)
	}
	return out.String(), true
}

// excluded returns a glob that excludes in the form of those that [exclusion] returns:
// where it applies shows at its front. Braces count with names in them, at the end: with
// a slash in one of the names, ripgrep would tie all of them to the folder.
func excluded(glob string) []string {
	all, middle, end, ok := braces(glob)
	if !ok || len(all) > 1 && (strings.Contains(middle+end, "/") || strings.Contains(middle, "**") || slices.Contains(strings.Split(middle, ","), "")) {
		return nil
	}
	for i, one := range all {
		switch {
		case !strings.Contains(one, "/"):
			all[i] = "**/" + one
		case !strings.HasPrefix(one, "/") && !strings.HasPrefix(one, "**/"):
			all[i] = "/" + one
		}
	}
	return all
}
