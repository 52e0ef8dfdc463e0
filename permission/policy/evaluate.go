package policy

import (
	"slices"
	"strings"
)

// evaluate reads a command of the shell that runs or evaluates its arguments.
func (s *script) evaluate(name string, words []string) {
	args := words[1:]
	has := func(letters string) bool {
		return slices.ContainsFunc(args, func(w string) bool {
			return len(w) > 1 && w[0] == '-' && strings.ContainsAny(w, letters)
		})
	}
	known := !slices.ContainsFunc(args, func(w string) bool { return !static(w) })
	switch name {
	case "eval":
		if len(args) > 0 && args[0] == "--" {
			args = args[1:]
		}
		s.certain(strings.Join(args, " "))
	case "source", ".":
		if len(args) > 0 && args[0] == "--" {
			args = args[1:]
		}
		if len(args) > 0 {
			s.runFile(args[0])
		}
	case "trap":
		s.trap(args)
	case "alias", "hash":
		if !known || has("p") && name == "hash" || slices.ContainsFunc(args, func(w string) bool { return strings.Contains(w, "=") }) {
			s.fail("%s gives another name to a command", name)
		}
	case "complete", "compopt", "bind", "fc", "vared", "zle", "zmodload", "autoload", "functions", "sched", "zargs":
		s.fail("%s runs what it is given", name)
	case "enable":
		if has("f") || !known {
			s.fail("enable loads a command")
		}
	case "compgen":
		if has("CFWXGV") || !known {
			s.fail("compgen runs what it is given")
		}
	case "set":
		if has("H") || slices.ContainsFunc(args, func(w string) bool { return strings.Contains(w, "hist") }) {
			s.fail("set changes how the text is read")
		}
	case "crontab":
		if len(args) == 0 || args[0] != "-l" {
			s.fail("crontab plans commands")
		}
	case "print":
		if has("Pz") || !known {
			s.fail("print expands what it is given")
		}
	case "let":
		for _, w := range args {
			if !static(w) {
				s.fail("let of an expression that is not known before it runs")
			}
			s.expression(w)
		}
	default:
		s.evaluateNames(name, args)
	}
}

// trap reads the command of a trap.
func (s *script) trap(args []string) {
	for len(args) > 0 && (args[0] == "--" || args[0] == "-l" || args[0] == "-p") {
		if args[0] != "--" {
			return
		}
		args = args[1:]
	}
	if len(args) > 1 && args[0] != "-" {
		s.certain(args[0])
	} else if len(args) == 1 && !static(args[0]) {
		s.fail("trap of what is not known before it runs")
	}
}

// evaluateNames reads the commands that take names of variables. The subscript
// of a name is code.
func (s *script) evaluateNames(name string, args []string) {
	bad := func(w string) bool { return !static(w) || evaluates(w) || !named.MatchString(w) }
	valued := map[string]string{"read": "dinNptu", "mapfile": "dnOsuc", "readarray": "dnOsuc", "wait": ""}
	switch name {
	case "printf":
		if len(args) == 0 {
			return
		}
		first := strings.Trim(args[0], string(anyText)+string(anyWords)) // nothing of it is known
		if first == "" && args[0] != "" || strings.HasPrefix(args[0], "-v") && args[0] != "-v" && bad(args[0][2:]) || args[0] == "-v" && len(args) > 1 && bad(args[1]) {
			s.fail("printf fills a name that is not known before it runs")
		}
	case "test", "[":
		s.testWords(args)
	case "read", "mapfile", "readarray", "wait", "getopts", "unset":
		for i := 0; i < len(args); i++ {
			w := args[i]
			switch {
			case len(w) > 1 && w[0] == '-' && static(w):
				if strings.HasSuffix(w, "C") {
					s.fail("%s runs a command", name)
				}
				if strings.IndexByte(valued[name], w[len(w)-1]) >= 0 {
					i++
				}
			case name == "getopts" && i == 0, name == "wait" && !strings.Contains(w, "["):
			case name == "getopts" && i > 1:
			case bad(w):
				s.fail("%s fills a name that is not known before it runs", name)
			}
		}
	case "declare", "typeset", "local", "export", "readonly":
		for _, w := range args {
			s.declaration(name, w)
		}
	}
}

// declaration reads an argument of declare and its kin, whose options -i and -n
// make code of values.
func (s *script) declaration(name, word string) {
	switch {
	case strings.HasPrefix(word, "-") && static(word):
		if strings.ContainsAny(word, "in") {
			s.fail("%s %s makes code of values", name, word)
		}
	case strings.HasPrefix(word, "+") && static(word):
	case !named.MatchString(word) || strings.ContainsRune(word, anyWords) || evaluates(word[:strings.IndexByte(word+"=", '=')]):
		s.fail("%s of a name that is not known before it runs", name)
	}
}

// testWords reads the arguments of test. Only a name that -v is asked about is
// evaluated; but what is not quoted may hold such a question.
func (s *script) testWords(args []string) {
	for i, w := range args {
		if strings.ContainsRune(w, anyWords) || strings.Contains(w, "[") && strings.ContainsAny(w, "$`") {
			s.fail("test of what is not known before it runs")
		}
		if (w == "-v" || w == "-R") && i+1 < len(args) && (!named.MatchString(args[i+1]) || evaluates(args[i+1]) || !static(args[i+1])) {
			s.fail("test of a name that is not known before it runs")
		}
	}
}
