package policy

import (
	"net/url"
	"slices"
	"strings"
)

// Some programs look for files by patterns of their own, or decode names. Such
// a word stands for more than its text.

// decoded returns further names that a program makes of word i of a command.
func decoded(program string, words []string, i int) []string {
	word := words[i]
	var names []string
	add := func(patterns ...string) {
		for _, p := range patterns {
			if strings.ContainsAny(p, "*?[") {
				name := ownPattern(p)
				if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--iglob") }) {
					name = withoutCase(name)
				}
				names = append(names, name)
			}
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
		if i > 1 && !listed(messages+gitTexts, words[i-1]) && !gitPattern(words, i) {
			names = append(names, pathspec(words, word)...)
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
func pathspec(words []string, word string) []string {
	anyCase := slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--icase") })
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
