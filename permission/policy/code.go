package policy

import (
	"strings"
)

// The functions here report whether code of another language may start a
// program. They know the few forms that people write on a command line, and
// take everything else for dangerous.

// awkStarts reads a program for awk from left to right, because a quote has
// another meaning in a string, in a regular expression and in a comment.
func awkStarts(code string) bool {
	rest := strings.ReplaceAll(code, "||", "&&")
	bare := strings.Builder{} // neither text nor pattern
	last := byte('\n')        // the last one that is not blank
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		switch {
		case c == '\\':
			return true
		case c == '#':
			for i+1 < len(rest) && rest[i+1] != '\n' {
				i++
			}
			continue
		case c == '"' || c == '/' && strings.IndexByte("~({;!&|,}\n", last) >= 0:
			_, tail, ok := delimited(rest[i+1:], c)
			if whole := rest[i : len(rest)-len(tail)]; !ok || strings.Contains(whole, "\n") || c == '/' && strings.Contains(whole, "[/") {
				return true
			}
			i = len(rest) - len(tail) - 1
			bare.WriteByte('0')
			last = '0'
			continue
		case c == '/' && isLetter(last) && awkKeyword.MatchString(bare.String()):
			return true // a pattern, not a division
		}
		bare.WriteByte(c)
		if c != ' ' && c != '\t' {
			last = c
		}
	}
	return awkBad.MatchString(bare.String())
}

var (
	awkBad     = lazily(`[|@]|\b(system|getline|close|fflush)\b`)
	awkKeyword = lazily(`\b(print|printf|return|in|exit|delete|case)\s*$`)
	// awkWrites finds output that goes to a file.
	awkWrites = lazily(`\bprintf?\b[^;}\n]*>`)
)

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

var sedNumber = lazily(`^([0-9]+(~[0-9]+)?|\$|\+[0-9]+|~[0-9]+)`)

// sedAddresses removes the addresses from the front of a script.
func sedAddresses(code string) string {
	for {
		code = strings.TrimLeft(code, " \t,!")
		switch m := sedNumber.compile().FindString(code); {
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
	sedFlags  = lazily(`^[gpiImM0-9]*`)
	sedLetter = lazily(`^[dDgGhHnNpPxz=lqQF][0-9]*`)
	sedLine   = lazily(`^([aic:]|[btT])[^\n;}]*`)
)

// sedCommand removes one command from the front of a script.
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
		return ended(rest[len(sedFlags.compile().FindString(rest)):])
	}
	if m := sedLetter.compile().FindString(code); m != "" {
		return ended(code[len(m):])
	}
	if m := sedLine.compile().FindString(code); m != "" {
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

var (
	// What may follow a dollar in a pattern or its replacement: a group, a name
	// that does not begin an element, or the end of the pattern.
	perlValue = lazily(`\$([0-9]+|[A-Za-z_][A-Za-z0-9_]*|&)([^-\[{:(A-Za-z0-9_]|$)|\$([)|]|$)`)
	perlBad   = lazily("[$@`]|\\(\\?+[\\{\\?]|\\(\\*")
)

// perlStarts knows substitutions, and lines that are printed conditionally.
func perlStarts(code string) bool {
	code = strings.TrimSpace(code)
	for code != "" {
		rest, ok := perlStatement(code)
		if !ok || rest != "" && rest[0] != ';' {
			return true
		}
		code = strings.TrimLeft(rest, "; \t\n")
	}
	return false
}

var perlPrint = lazily(`^print(\s+\$_)?(\s+(if|unless)\s+!?)?`)

// perlStatement removes one statement from the front of a program.
func perlStatement(code string) (rest string, ok bool) {
	if m := perlPrint.FindStringSubmatch(code); m != nil {
		rest = code[len(m[0]):]
		if m[2] == "" {
			return strings.TrimLeft(rest, " \t"), true
		}
		if number := perlLine.compile().FindString(rest); number != "" {
			return rest[len(number):], true
		}
		code = strings.TrimPrefix(rest, "m")
		if !strings.HasPrefix(code, "/") {
			return "", false
		}
		pattern, rest, ok := delimited(code[1:], '/')
		// An operator could follow the blanks; only the end of the statement is
		// allowed.
		flags := perlFlags.compile().FindString(rest)
		return rest[len(flags):], ok && perlHarmless(pattern)
	}
	if !strings.HasPrefix(code, "s") || len(code) < 3 || strings.IndexByte("/|#,!%~:", code[1]) < 0 {
		return "", false
	}
	pattern, rest, ok := delimited(code[2:], code[1])
	if !ok {
		return "", false
	}
	text, rest, ok := delimited(rest, code[1])
	return strings.TrimLeft(rest, "gimsx"), ok && perlHarmless(pattern) && perlHarmless(text)
}

// perlFlags are the flags of a pattern, and the blanks after them.
var perlFlags = lazily(`^[gimsx]*[ \t]*`)

// perlLine is a condition on the number of a line.
var perlLine = lazily(`^\$\.\s*(==|<=?|>=?|%)\s*[0-9]+`)

// perlHarmless reports whether a pattern, or its replacement, holds no code.
func perlHarmless(text string) bool {
	return !perlBad.MatchString(perlValue.compile().ReplaceAllString(text, "$2"))
}

// The only words of Ruby that count as harmless.
const rubyWords = " puts p print require json yaml date time set securerandom digest pp JSON YAML Date Time Set SecureRandom RUBY_VERSION RUBY_PLATFORM RUBY_ENGINE STDIN read parse pretty_generate dump now today iso8601 hex uuid to_s to_i to_f to_a to_json map select reject each sum size length count first last min max sort reverse uniq join split strip chomp upcase downcase capitalize include times upto keys values fetch dig nil true false do end round abs "

var (
	rubyString  = lazily(`'[^'"\\#\n]*'|"[^'"\\#\n]*"`)
	rubyRequire = lazily(`\brequire\s*\(?\s*(?:'(?:json|yaml|date|time|set|securerandom|digest|pp)'|"(?:json|yaml|date|time|set|securerandom|digest|pp)")`)
	rubyBad     = lazily("[^\\x20-\\x7e\\n]|[\\\\`#@'\"%$&:?/~]|<<")
	rubyWord    = lazily(`[A-Za-z_][A-Za-z0-9_]*`)
)

// rubyStarts knows printing and simple expressions.
func rubyStarts(code string) bool {
	code = rubyRequire.compile().ReplaceAllString(code, "0")
	bare := rubyString.compile().ReplaceAllString(code, "0")
	if rubyBad.MatchString(bare) || strings.Contains(bare, "require") {
		return true
	}
	for _, word := range rubyWord.compile().FindAllString(bare, -1) {
		if len(word) > 1 && !listed(rubyWords, word) {
			return true
		}
	}
	return false
}

// The only parts of Python that count as harmless: modules, and attributes of
// values. Words in strings count as if they were code.
const (
	pythonModules = " json sys re math datetime time base64 hashlib urllib.parse collections itertools functools random csv textwrap pprint statistics decimal fractions uuid struct calendar html binascii zlib secrets bisect heapq unicodedata difflib tomllib ast keyword "
	pythonMembers = " load loads dumps read readline readlines stdin stdout stderr buffer argv version version_info path prefix executable platform get items keys values append join split rsplit strip lstrip rstrip splitlines replace lower upper title startswith endswith find count index sort reverse copy update add pop encode decode isdigit isalpha sub search match findall finditer fullmatch group groups start end sqrt floor ceil pi e log log2 log10 exp pow sin cos tan gcd factorial now today utcnow date time datetime timedelta timezone utc strftime strptime isoformat timestamp fromtimestamp fromisoformat total_seconds days seconds year month day b64encode b64decode urlsafe_b64encode urlsafe_b64decode hexdigest digest md5 sha1 sha256 sha512 parse quote unquote quote_plus unquote_plus urlencode urlparse urlsplit parse_qs netloc hostname query scheme Counter most_common defaultdict OrderedDict deque chain product permutations combinations randint random choice choices sample shuffle uniform seed token_hex token_urlsafe uuid4 hex reader DictReader mean median stdev pprint indent dedent wrap zfill center ljust rjust bit_length escape unescape flush maxsize exit literal_eval json name "
)

var (
	pythonBad    = lazily(`[^\x20-\x7e\n\t]|__|\\[^nrt'"\\]|\b(eval|exec|compile|open|input|breakpoint|getattr|setattr|delattr|globals|locals|vars|help|class|async|type|object|super)\b|\bimport\s*[*(\\]`)
	pythonImport = lazily(`\bimport\s+([A-Za-z_][\w.]*(?:\s+as\s+\w+)?(?:\s*,\s*[A-Za-z_][\w.]*(?:\s+as\s+\w+)?)*)`)
	pythonFrom   = lazily(`\bfrom\s+([A-Za-z_][\w.]*)\s+$`)
	pythonMember = lazily(`\.(\s|#|\\|[A-Za-z_]\w*)`)
)

func pythonStarts(code string) bool {
	if pythonBad.MatchString(code) {
		return true
	}
	imports := 0
	for _, m := range pythonImport.compile().FindAllStringSubmatchIndex(code, -1) {
		imports++
		names := pythonModules
		if from := pythonFrom.FindStringSubmatch(code[:m[0]]); from != nil {
			if names = pythonMembers; !listed(pythonModules, from[1]) {
				return true
			}
		}
		for name := range strings.SplitSeq(code[m[2]:m[3]], ",") {
			if fields := strings.Fields(name); !listed(names, fields[0]) {
				return true
			}
		}
	}
	for _, m := range pythonMember.compile().FindAllStringSubmatch(code, -1) {
		if !listed(pythonMembers, m[1]) {
			return true
		}
	}
	return strings.Count(code, "import") > imports
}

// The only words of JavaScript that count as harmless, besides single letters.
const nodeWords = " console log error require JSON parse stringify process version versions v8 node env argv const let var function return if else for of in new Date Math Object keys map filter reduce forEach join length toString toISOString toFixed now true false null undefined readFileSync existsSync readdirSync path resolve basename dirname extname randomBytes randomUUID createHash update digest Number parseInt parseFloat String Array isArray from Boolean split trim slice replace includes startsWith endsWith indexOf sort reverse concat push max min floor ceil round abs sqrt pow random PI name scripts dependencies devDependencies description license main pkg data err res obj str key val out line lines item items file text typeof "

var (
	nodeString  = lazily(`'[^'"\n]*'|"[^'"\n]*"`)
	nodeBad     = lazily("[^\\x20-\\x7e\\n]|[\\\\`/#@'\"]")
	nodeIndex   = lazily(`\[[0-9]+\]`)
	nodeWord    = lazily(`[A-Za-z_$][\w$]*`)
	nodeRequire = lazily(`\brequire\((?:'[^'"]*'|"[^'"]*")\)`)
	nodeModule  = lazily(`^require\(['"]((node:)?(fs|path|util|os|crypto|url|assert|querystring|zlib|events|buffer)|\.{0,2}/?[\w./-]*\.json)['"]\)$`)
)

func nodeStarts(code string) bool {
	found := nodeRequire.compile().FindAllString(code, -1)
	for _, r := range found {
		if !nodeModule.MatchString(r) {
			return true
		}
	}
	if strings.Count(code, "require") != len(found) {
		return true
	}
	bare := nodeIndex.compile().ReplaceAllString(nodeString.compile().ReplaceAllString(code, "0"), "")
	if nodeBad.MatchString(bare) || strings.Contains(bare, "[") {
		return true
	}
	for _, word := range nodeWord.compile().FindAllString(bare, -1) {
		if len(word) > 1 && !listed(nodeWords, word) {
			return true
		}
	}
	return false
}
