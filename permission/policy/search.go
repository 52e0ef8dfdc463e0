package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// search records the files that a command finds and hands to another program:
// find with an action, and xargs with the names in lists. Where the search begins is known,
// and sometimes the form of the names.
func (f *findings) search(words, lists []string) {
	switch base(words[0]) {
	case "fd", "fdfind":
		at := slices.IndexFunc(words, fdExecution.MatchString)
		if at < 0 {
			return
		}
		inner := words[at+1:]
		if m := fdExecution.FindStringSubmatch(words[at]); m[1] != "" {
			inner = append([]string{m[1]}, inner...)
		}
		f.handed(inner, fdFound(words[1:at]), false)
	case "find":
		at := slices.IndexFunc(words, func(w string) bool { return findExecution.MatchString(w) || findWrites.MatchString(w) })
		if at < 0 {
			return
		}
		inner := words[at+1:]
		deletes := slices.ContainsFunc(words, func(w string) bool { return w == "-delete" })
		f.handed(inner, append(found(words[:at]), lookedFor(words[:at])...), deletes)
	case "xargs", "gxargs":
		at := slices.IndexFunc(words[1:], func(w string) bool {
			return listed(readers, base(w)) || listed(changers, base(w)) || listed(shells, base(w))
		})
		if at < 0 {
			f.handed(words[1:], lists, false)
			return
		}
		names := lists
		if names == nil {
			names = []string{string(anyText)}
		}
		inner := words[at+1:]
		if mark := replaced(words[:at+1]); mark != "" {
			for _, word := range inner[1:] {
				if strings.Contains(word, mark) && word != mark {
					f.handed(inner, []string{strings.ReplaceAll(word, mark, string(anyText))}, false)
				}
			}
		}
		f.handed(inner, names, false)
	}
}

// searches records the names that find looks for in a part of the text whose output
// goes to other commands.
func (f *findings) searches(node syntax.Node) {
	syntax.Walk(node, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == "find" && f.spend(costOfCall/4) {
			f.handed(nil, lookedFor(expander{}.words(call.Args)), false)
		}
		return f.unread == ""
	})
}

// onlyPrints reports whether the commands in a part of the text print their input and
// do nothing else with it.
func onlyPrints(node syntax.Node, work *int) bool {
	only := true
	syntax.Walk(node, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			only = only && spend(work, 8) && listed(" wc head tail sort uniq shuf less more tee cat tac nl column cut tr rev sed awk grep egrep fgrep rg ", base(call.Args[0].Lit()))
		}
		return only
	})
	return only
}

// handed records the files that a program is started with.
func (f *findings) handed(inner, names []string, deletes bool) {
	does := func(list string) bool {
		return slices.ContainsFunc(inner, func(w string) bool { return listed(list, base(w)) })
	}
	opens := does(readers) || does(changers) || does(shells) || deletes
	for _, name := range names {
		// For a program that may not open it, only names count, not where they are
		// searched.
		if opens || !strings.ContainsFunc(name, isSpreadOrText) && strings.Trim(base(name), string([]rune{anyName, anyPart})) != "" {
			f.files = append(f.files, shellFile{name: name, writes: deletes || does(writers), opens: opens})
		}
	}
}

// found returns the files that find may find: below each place where it begins,
// with the names that it looks for, if its arguments are simple.
func found(words []string) []string {
	var places, patterns []string
	simple := true
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case w == "-name" && i+1 < len(words):
			i++
			patterns = append(patterns, ownPattern(words[i]))
		case listed(" -o -or ! -not , -path -wholename -regex -iname -ipath -iregex ", w) || !static(w):
			simple = false
		case strings.HasPrefix(w, "-"):
		case len(patterns) == 0 && (i == 1 || !strings.HasPrefix(words[i-1], "-")):
			places = append(places, strings.TrimSuffix(w, "/"))
		}
	}
	if len(places) == 0 {
		places = []string{"."}
	}
	var all []string
	for _, place := range places {
		if !simple || len(patterns) != 1 {
			all = append(all, place+"/"+string(anyText))
			continue
		}
		name := patterns[0]
		all = append(all, place+"/"+name, place+"/"+string(anyText)+"/"+name)
	}
	return all
}

// lookedFor returns the last names of all patterns that find looks for, however
// it combines them. Exclusions do not count.
func lookedFor(words []string) (names []string) {
	for i, w := range words[:len(words)-1] {
		if !listed(" -name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex ", w) || i > 0 && listed(" ! -not ", words[i-1]) || i+2 < len(words) && words[i+2] == "-prune" {
			continue
		}
		pattern := words[i+1]
		found := []string{ownPattern(pattern[strings.LastIndexByte(pattern, '/')+1:])}
		if strings.HasSuffix(w, "regex") {
			found = namesOf(pattern)
		}
		for _, name := range found {
			if strings.HasPrefix(w, "-i") {
				name = withoutCase(name)
			}
			if strings.Trim(name, string([]rune{anyName, anyPart})) != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// listedBy returns the names that a pipe hands on: those of one search, which
// other programs may have sorted. It is nil if they are unknown.
func listedBy(commands []command) []string {
	var names []string
	for _, c := range commands {
		switch name := base(c.words[0]); {
		case listed(" fd fdfind ", name) && names == nil:
			names = fdFound(c.words[1:])
		case name == "find" && names == nil:
			names = append(found(c.words), lookedFor(c.words)...)
		case name == "git" && names == nil && len(c.words) > 1 && c.words[1] == "ls-files":
			for _, word := range c.words[2:] {
				if pattern := closeSets(unescape(word)); !strings.HasPrefix(word, "-") {
					names = append(names, pattern, string(anyText)+"/"+pattern)
				}
			}
			if names == nil {
				return nil
			}
		case listed(" grep rg ", name) && names == nil && listsFiles(c.words):
			// The first operand is the pattern; the others are the places.
			for _, place := range operands(c.words)[1:] {
				names = append(names, place, strings.TrimSuffix(place, "/")+"/"+string(anyText))
			}
			if names == nil {
				return nil
			}
		case name == "ls" && names == nil && len(operands(c.words)) > 0:
			names = operands(c.words)
		case listed(" sort head tail uniq shuf ", name) && names != nil:
		case name == "grep" && names != nil && len(operands(c.words)) == 1:
		default:
			return nil
		}
	}
	return names
}

// listsFiles reports whether a search prints the names of files.
func listsFiles(words []string) bool {
	return len(operands(words)) > 0 && slices.ContainsFunc(words, func(w string) bool {
		return len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, "lL") || w == "--files-with-matches"
	})
}

// operands returns the words of a command that are not options.
func operands(words []string) (list []string) {
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") {
			list = append(list, w)
		}
	}
	return list
}
