package policy

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// namesOf returns the last names of the paths that fit a regular expression, with
// wildcards for its open parts. There are several kinds of expressions, and the
// options of a program decide which one it means: an expression is read in both
// ways, with a backslash before brackets and without.
func namesOf(expression string) (names []string) {
	for _, text := range []string{expression, swapped.compile().ReplaceAllStringFunc(expression, swap)} {
		tree, err := syntax.Parse(text, syntax.Perl&^syntax.NonGreedy)
		if err != nil {
			continue
		}
		for _, path := range pathsOf(tree.Simplify()) {
			name := path[strings.LastIndexByte(path, '/')+1:]
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if names == nil { // it cannot be parsed
		return []string{string(anyText)}
	}
	return names
}

var swapped = lazily(`\\?[(){}|]|\\.`)

// swap gives brackets with a backslash the meaning of those without, and the other
// way round.
func swap(text string) string {
	switch {
	case len(text) == 1:
		return `\` + text
	case strings.ContainsAny(text[1:], "(){}|"):
		return text[1:]
	}
	return text
}

// pathsOf returns the texts that fit an expression, with wildcards. Too many of them
// become one that may be anything.
func pathsOf(tree *syntax.Regexp) []string {
	open := []string{string(anyPart)}
	switch tree.Op {
	case syntax.OpLiteral:
		return []string{string(tree.Rune)}
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return []string{""}
	case syntax.OpCapture:
		return pathsOf(tree.Sub[0])
	case syntax.OpAlternate:
		var all []string
		for _, sub := range tree.Sub {
			all = append(all, pathsOf(sub)...)
		}
		if len(all) > maxValues {
			return open
		}
		return all
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range tree.Sub {
			parts := pathsOf(sub)
			if len(all)*len(parts) > maxValues {
				return open
			}
			var next []string
			for _, head := range all {
				for _, part := range parts {
					next = append(next, head+part)
				}
			}
			all = next
		}
		return all
	}
	return open // classes of characters, and repetitions
}

// fdFound returns the files that fd may find, by its arguments: those that an
// expression fits anywhere in the name, or that have an ending.
func fdFound(words []string) (names []string) {
	pattern, glob := "", slices.ContainsFunc(words, fdGlob.MatchString)
	for i, w := range words {
		if m := fdEnding.FindStringSubmatch(w); m != nil {
			if ending := m[1]; ending != "" || i+1 < len(words) {
				if ending == "" {
					ending = words[i+1]
				}
				names = append(names, string(anyPart)+"."+ending)
			}
		} else if !strings.HasPrefix(w, "-") && pattern == "" && (i == 0 || !fdEnding.MatchString(words[i-1]) && !fdValue.MatchString(words[i-1])) {
			pattern = w
		}
	}
	switch {
	case names != nil:
		return names
	case pattern == "" || pattern == ".":
		return []string{"./" + string(anyText)}
	case glob:
		return []string{ownPattern(pattern)}
	}
	for _, name := range namesOf(pattern) {
		front, back := string(anyPart), string(anyPart)
		if strings.HasPrefix(pattern, "^") {
			front = ""
		}
		if strings.HasSuffix(pattern, "$") {
			back = ""
		}
		names = append(names, front+name+back, front+strings.ToUpper(name)+back) // small letters fit either case
	}
	return names
}

var (
	fdGlob   = lazily(`^(-[a-zA-Z]*g|--glob)`)
	fdValue  = lazily(`^(-[a-zA-Z0-9]*[tdESoj]|--(type|(max|min|exact)-depth|exclude|size|owner|color|threads|changed-(within|before)|base-directory|search-path|format))$`)
	fdEnding = lazily(`^(?:-[a-zA-Z0-9]*e|--extension(?:=|$))(.*)$`)
)
