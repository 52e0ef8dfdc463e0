package policy

import (
	"regexp"
	"strings"
)

// The functions here report whether code of another language may start a
// program. They know the few forms that people write on a command line, and
// take everything else for dangerous.

var (
	awkString = regexp.MustCompile(`"(\\.|[^"\\\n])*"`)
	// A regular expression where awk cannot read a division.
	awkRegexp = regexp.MustCompile(`(^|[~({;!&|,}\n])(\s*)/(\\.|[^/\\\n"])*/`)
	awkBad    = regexp.MustCompile(`[|@]|\b(system|getline|close|fflush)\b|\\$`)
)

func awkStarts(code string) bool {
	code = awkString.ReplaceAllString(code, "0")
	code = awkRegexp.ReplaceAllString(code, "${1}0")
	return awkBad.MatchString(strings.ReplaceAll(code, "||", "&&"))
}

// sedStarts reads a script for sed, command by command.
func sedStarts(code string) bool {
	for {
		code = strings.TrimLeft(code, " \t\n;{}")
		if code == "" {
			return false
		}
		rest, ok := sedCommand(sedAddresses(code))
		if !ok {
			return true
		}
		code = rest
	}
}

var sedNumber = regexp.MustCompile(`^([0-9]+(~[0-9]+)?|\$|\+[0-9]+|~[0-9]+)`)

// sedAddresses takes the addresses off the front of a script.
func sedAddresses(code string) string {
	for {
		code = strings.TrimLeft(code, " \t,!")
		switch m := sedNumber.FindString(code); {
		case m != "":
			code = code[len(m):]
		case strings.HasPrefix(code, "/"):
			_, rest, ok := delimited(code[1:], '/')
			if !ok {
				return "?"
			}
			code = strings.TrimLeft(rest, "IM")
		default:
			return code
		}
	}
}

var (
	sedFlags  = regexp.MustCompile(`^[gpiImM0-9]*`)
	sedLetter = regexp.MustCompile(`^[dDgGhHnNpPxz=lqQF][0-9]*`)
	sedLine   = regexp.MustCompile(`^([aic:]|[btT])[^\n;}]*`)
)

// sedCommand takes one command off the front of a script.
func sedCommand(code string) (rest string, ok bool) {
	if code == "" {
		return "", false
	}
	if c := code[0]; (c == 's' || c == 'y') && len(code) > 1 {
		_, rest, ok := delimited(code[2:], code[1])
		if !ok {
			return "", false
		}
		if _, rest, ok = delimited(rest, code[1]); !ok {
			return "", false
		}
		return ended(rest[len(sedFlags.FindString(rest)):])
	}
	if m := sedLetter.FindString(code); m != "" {
		return ended(code[len(m):])
	}
	if m := sedLine.FindString(code); m != "" {
		if strings.Contains("aic", code[:1]) { // the text lasts to the end of the line, or longer
			m, _, _ = strings.Cut(code, "\n")
			return code[len(m):], !strings.HasSuffix(m, `\`) || !strings.Contains(code[len(m):], "\n")
		}
		return code[len(m):], true
	}
	return "", false
}

// ended reports whether a command ends here.
func ended(rest string) (string, bool) {
	trimmed := strings.TrimLeft(rest, " \t")
	return rest, trimmed == "" || strings.IndexByte(";\n}#", trimmed[0]) >= 0 && trimmed[0] != '#'
}

// delimited cuts at the next delimiter that no backslash hides.
func delimited(text string, delimiter byte) (part, rest string, ok bool) {
	if delimiter == '\\' || delimiter == '\n' {
		return "", "", false
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case delimiter:
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}

var perlBad = regexp.MustCompile(`[@` + "`" + `]|\$\s*[\{\[\\:]|\(\?+[\{\?]|\(\*`)

// perlStarts knows substitutions only.
func perlStarts(code string) bool {
	code = strings.TrimSpace(code)
	for code != "" {
		if !strings.HasPrefix(code, "s") || perlBad.MatchString(code) || len(code) < 3 || strings.IndexByte("/|#,!%~:", code[1]) < 0 {
			return true
		}
		_, rest, ok := delimited(code[2:], code[1])
		if ok {
			_, rest, ok = delimited(rest, code[1])
		}
		rest = strings.TrimLeft(rest, "gimsx")
		if !ok || rest != "" && rest[0] != ';' {
			return true
		}
		code = strings.TrimLeft(rest, "; \t\n")
	}
	return false
}

var (
	pythonBad    = regexp.MustCompile(`__|\\[xuUN0-7]|\b(_?os|posix|nt|pty|popen\w*|system|spawn\w*|fork\w*|exec\w*|eval|compile|subprocess|_posixsubprocess|ctypes|cffi|builtins|modules|getattr|setattr|delattr|globals|locals|vars|breakpoint|importlib|imp|runpy|code|codeop|codecs|pdb|bdb|multiprocessing|asyncio|concurrent|threading|pickle|marshal|shelve|signal|platform|webbrowser|sh|shutil|sys\.\w*hook\w*|settrace|setprofile|pip|venv|distutils|setuptools|tempfile|pathlib|input|open|help|license|site|inspect|gc|types|timeit|trace|profile|cProfile|doctest|unittest|antigravity|operator|methodcaller|attrgetter|write\w*)\b`)
	pythonImport = regexp.MustCompile(`\b(?:import|from)\s+([A-Za-z_][\w.]*(?:\s*,\s*[A-Za-z_][\w.]*)*)`)
)

// pythonModules start nothing.
const pythonModules = " json sys re math datetime time base64 hashlib urllib.parse collections itertools functools string random csv textwrap pprint statistics decimal fractions uuid struct calendar html binascii zlib secrets colorsys bisect heapq unicodedata difflib tomllib ast keyword numpy pandas yaml requests torch "

func pythonStarts(code string) bool {
	if pythonBad.MatchString(code) {
		return true
	}
	imports := 0
	for _, m := range pythonImport.FindAllStringSubmatch(code, -1) {
		imports++
		for name := range strings.SplitSeq(m[1], ",") {
			if !listed(pythonModules, strings.TrimSpace(name)) {
				return true
			}
		}
	}
	return strings.Count(code, "import") > imports
}

var (
	nodeBad     = regexp.MustCompile(`\\|\b(child_process|eval|Function|constructor|prototype|__\w*|global\w*|binding|_linkedBinding|dlopen|mainModule|import|module|createRequire|vm|worker_threads|cluster|repl|inspector|spawn\w*|exec\w*|fork|Worker|getBuiltinModule|kill|Reflect|Proxy|WebAssembly|Symbol|write\w*|with|this|arguments|debugger|async_hooks|stdin)\b`)
	nodeIndex   = regexp.MustCompile(`\[[^\]]*[+` + "`" + `(]`)
	nodeRequire = regexp.MustCompile(`\brequire\((?:'[^'"]*'|"[^'"]*")\)`)
	nodeModule  = regexp.MustCompile(`^require\(['"]((node:)?(fs|path|util|os|crypto|url|assert|querystring|zlib|events|buffer)|\.{0,2}/?[\w./-]*\.json)['"]\)$`)
)

func nodeStarts(code string) bool {
	if nodeBad.MatchString(code) || nodeIndex.MatchString(code) {
		return true
	}
	found := nodeRequire.FindAllString(code, -1)
	for _, r := range found {
		if !nodeModule.MatchString(r) {
			return true
		}
	}
	return strings.Count(code, "require") != len(found)
}
