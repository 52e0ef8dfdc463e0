package policy

import (
	"slices"
	"strings"
)

// evaluate reads a command of the shell that runs or evaluates its arguments.
func (c *calls) evaluate(name string, words []string) {
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
		c.certain(strings.Join(args, " "))
	case "source", ".":
		c.source(name, args)
	case "trap":
		c.trap(args)
	case "alias", "hash":
		if !known || has("p") && name == "hash" || slices.ContainsFunc(args, func(w string) bool { return strings.Contains(w, "=") }) {
			c.fail("%s gives another name to a command", name)
		}
	case "complete", "compopt", "bind", "fc", "vared", "zle", "zmodload", "autoload", "functions", "sched", "zargs":
		c.fail("%s runs what it is given", name)
	case "enable":
		if has("f") || !known {
			c.fail("enable loads a command")
		}
	case "compgen":
		if has("CFWXGV") || !known {
			c.fail("compgen runs what it is given")
		}
	case "set":
		if has("H") || slices.ContainsFunc(args, func(w string) bool { return strings.Contains(w, "hist") }) {
			c.fail("set changes how the text is read")
		}
	case "history":
		if options, _, ok := getopt(name, args); !ok || hasLetter(options, "awrnps") {
			c.fail("history keeps commands, or brings them back")
		}
	case "shopt":
		if !known || slices.ContainsFunc(args, func(w string) bool { return strings.Contains(w, "hist") }) {
			c.fail("shopt changes how the text is read")
		}
	case "crontab":
		if len(args) == 0 || args[0] != "-l" {
			c.fail("crontab plans commands")
		}
	case "print":
		if has("Pz") || !known {
			c.fail("print expands what it is given")
		}
	case "let":
		for _, w := range args {
			if !static(w) {
				c.fail("let of an expression that is not known before it runs")
			}
			c.refuse(c.expression(w))
		}
	default:
		c.evaluateNames(name, args)
	}
}

// source reads the arguments of source. Its option -p, which bash has since 5.3,
// names the directories in which it looks for the file.
func (c *calls) source(name string, args []string) {
	options, rest, ok := getopt(name, args)
	if len(rest) == 0 && !ok {
		c.fail("%s gets options that are not known before it runs", name)
	}
	if len(rest) == 0 {
		return
	}
	c.runFile(rest[0])
	for _, o := range options {
		for dir := range strings.SplitSeq(o.value, ":") {
			c.runFile(dir + "/" + rest[0])
		}
	}
}

// trap reads the command of a trap.
func (c *calls) trap(args []string) {
	for len(args) > 0 && (args[0] == "--" || args[0] == "-l" || args[0] == "-p") {
		if args[0] != "--" {
			return
		}
		args = args[1:]
	}
	if len(args) > 1 && args[0] != "-" {
		c.certain(args[0])
	} else if len(args) == 1 && !static(args[0]) {
		c.fail("trap of what is not known before it runs")
	}
}

// evaluateNames reads the commands that take names of variables. The subscript
// of a name is code.
func (c *calls) evaluateNames(name string, args []string) {
	switch name {
	case "test", "[":
		c.testWords(args)
		return
	case "declare", "typeset", "local", "export", "readonly":
		c.declarations(name, args)
		return
	}
	options, _, _ := getopt(name, args)
	names, _, ok := filled(name, args)
	if hasLetter(options, "C") {
		c.fail("%s runs a command", name)
	}
	if !ok && (len(options) > 0 || !printsFormat(name, args)) || slices.ContainsFunc(names, badName) {
		c.fail("%s fills a name that is not known before it runs", name)
	}
	if slices.ContainsFunc(names, decides) {
		c.fail("%s fills a variable that is run", name)
	}
}

// printsFormat reports whether printf begins with a format of which enough is
// known to rule out an option.
func printsFormat(name string, args []string) bool {
	return name == "printf" && len(args) > 0 && !strings.HasPrefix(args[0], "-") && strings.Trim(args[0], string(anyText)+string(anyWords)) != ""
}

// badName reports whether a name may be more than the name of a variable.
func badName(word string) bool {
	return !static(word) || evaluates(word) || !named.MatchString(word)
}

// declarations reads the arguments of declare and similar commands. Their
// options -i and -n turn values into code, and the elements of an array are
// expanded even in quotes.
func (c *calls) declarations(name string, args []string) {
	options, rest, ok := getopt(name, args)
	switch {
	case !ok && (len(rest) == 0 || strings.HasPrefix(rest[0], "-")):
		c.fail("%s gets options that are not known before it runs", name)
	case hasLetter(options, "in") && name != "export" && name != "readonly":
		c.fail("%s -i and -n make code of values", name)
	}
	arrays := hasLetter(options, "aA")
	for _, word := range rest {
		variable, value, _ := strings.Cut(word, "=")
		variable = strings.TrimSuffix(variable, "+")
		if !named.MatchString(word) || !static(variable) || strings.ContainsRune(word, anyWords) || evaluates(variable) {
			c.fail("%s of a name that is not known before it runs", name)
		}
		if (arrays || c.arrays[variable] || shellArray.MatchString(variable)) && (strings.HasPrefix(value, "(") || strings.IndexFunc(value, isUnknown) == 0) {
			c.fail("%s expands the elements of an array", name)
		}
		if renaming.MatchString(variable) {
			c.fail("%s is assigned to", variable)
		}
		if strings.Contains(word, "=") { // in quotes, where the parser does not see an assignment
			c.set(variable, value)
		}
	}
}

// shellArray are arrays that the shell itself provides.
var shellArray = lazily(`^(DIRSTACK|FUNCNAME|GROUPS|PIPESTATUS|MAPFILE|COPROC|BASH_\w+|COMP_\w+)$`)

// testWords reads the arguments of test. Only the name after -v is evaluated;
// but an unquoted word may contain such a question.
func (c *calls) testWords(args []string) {
	for i, w := range args {
		if strings.ContainsRune(w, anyWords) || strings.Contains(w, "[") && strings.ContainsAny(w, "$`") {
			c.fail("test of what is not known before it runs")
		}
		if (w == "-v" || w == "-R") && i+1 < len(args) && (!named.MatchString(args[i+1]) || evaluates(args[i+1]) || !static(args[i+1])) {
			c.fail("test of a name that is not known before it runs")
		}
	}
}
