package policy

import (
	"net/url"
	"slices"
	"strings"
)

// Some programs look for files by patterns of their own, or decode names. Such
// a word stands for more than its text.

// decoding finds the further names that a program makes of its words. What depends on
// the whole command is found once: a command may have thousands of words.
type decoding struct {
	program string
	words   []string
	iglob   bool // an option asks for patterns that fit letters of the other case
	icase   bool // the same, in git
}

func decodingOf(program string, words []string) decoding {
	begins := func(option string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, option) })
	}
	return decoding{program, words, begins("--iglob"), begins("--icase")}
}

// names returns the further names of word i.
func (d decoding) names(i int) []string {
	program, words, word := d.program, d.words, d.words[i]
	var names []string
	add := func(p string) {
		if strings.ContainsAny(p, "*?[") {
			name := ownPattern(p)
			if d.iglob {
				name = withoutCase(name)
			}
			names = append(names, name)
		}
	}
	if fileURL.MatchString(word) && strings.Contains(word, "%") || program == "curl" && strings.Contains(word, "%") {
		if plain, err := url.PathUnescape(word); err == nil {
			word = plain
			names = append(names, plain)
		} else {
			names = append(names, strings.SplitN(word, "%", 2)[0]+string(anyText))
		}
	}
	switch program {
	case "curl":
		if strings.ContainsAny(word, "{[") && !strings.Contains(word, "\"") {
			names = append(names, curlSet.compile().ReplaceAllString(word, string(anyText)))
		}
	case "git":
		if specs := d.pathspec(word); i > 1 && len(specs) > 0 && !listed(messages+gitTexts, words[i-1]) && !gitPattern(words, i) {
			names = append(names, specs...)
		}
	case "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "rsync":
		if m := includeOption.FindStringSubmatch(word); m != nil && m[1] != "" {
			add(m[1])
		} else if i > 1 && includeOption.MatchString(words[i-1]) && !strings.HasSuffix(words[i-1], "=") {
			add(word)
		}
	case "7z", "7za", "7zz", "zip":
		if !strings.HasPrefix(word, "-") || strings.HasPrefix(word, "-i") {
			add(strings.TrimPrefix(strings.TrimPrefix(word, "-i"), "!"))
		}
	}
	return names
}

var (
	fileURL       = lazily(`(?i)file:`)
	curlSet       = lazily(`\{[^}]*\}|\[[^\]]*\]`)
	includeOption = lazily(`^(?:--(?:inc[a-z-]*|i?glob)(?:=|$)|-[a-zA-Z0-9]*g)(.*)$`)
)

// gitTexts are options of git that are followed by a text or an expression.
const gitTexts = " -S -G -L --grep --committer -e --since --until "

// gitPattern reports whether a word is the expression of git grep: its first
// operand, unless an option has one.
func gitPattern(words []string, i int) bool {
	at := slices.Index(words, "grep")
	if at < 0 || at >= i || slices.ContainsFunc(words[at:], func(w string) bool { return clusteredE.MatchString(w) }) {
		return false
	}
	return at+1+slices.IndexFunc(words[at+1:], func(w string) bool { return !strings.HasPrefix(w, "-") }) == i
}

var clusteredE = lazily(`^-[A-Za-z0-9]*[ef]`)

// pathspec returns the names that a word stands for by git's own wildcards,
// which also stand for dots and for slashes.
func (d decoding) pathspec(word string) []string {
	anyCase := d.icase
	if m := pathMagic.FindStringSubmatch(word); m != nil {
		anyCase = anyCase || strings.Contains(m[0], "icase")
		word = word[len(m[0]):]
	}
	if strings.HasPrefix(word, "-") || !anyCase && !strings.ContainsAny(word, "*?[") || strings.ContainsAny(word, " \n") {
		return nil
	}
	names := []string{ownPattern(word)}
	if !strings.ContainsAny(word[:1], "*?[") { // else it is a search from a directory above
		names = append(names, closeSets(unescape(strings.ReplaceAll(word, "*", "*/*"))))
	}
	if anyCase {
		for i, name := range names {
			names[i] = withoutCase(name)
		}
	}
	return names
}

var pathMagic = lazily(`^:(?:\([a-z,:=!^-]*\)|[!^/]+:?)`)

// ownPattern returns a pattern whose wildcards also stand for a dot at the
// beginning.
func ownPattern(pattern string) string {
	return strings.Map(func(r rune) rune {
		if r == anyName || r == anyChar {
			return anyPart
		}
		return r
	}, closeSets(unescape(pattern)))
}

// withoutCase returns a name whose letters may be of either case.
func withoutCase(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && isLetter(byte(r)) {
			return anyChar
		}
		return r
	}, name)
}
