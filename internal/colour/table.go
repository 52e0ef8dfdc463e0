package colour

// The spans that many languages share.
var (
	double   = span{open: `"`, close: `"`, class: Text, escape: '\\'}
	single   = span{open: "'", close: "'", class: Text, escape: '\\'}
	letter   = span{open: "'", close: "'", class: Text, escape: '\\', short: 12, letter: true}
	backtick = span{open: "`", close: "`", class: Text, escape: '\\', lines: true}
	raw      = span{open: "`", close: "`", class: Text, lines: true}
	triple   = span{open: `"""`, close: `"""`, class: Text, escape: '\\', lines: true}
	triples  = span{open: "'''", close: "'''", class: Text, escape: '\\', lines: true}
	pattern  = span{open: "/", close: "/", class: Text, escape: '\\', short: 200, after: "(=,:[!&|?{};>+"}
	block    = span{open: "/*", close: "*/", class: Comment, lines: true}
)

// makeTable describes the languages. The first name of each is its own; others are other
// names and extensions.
func makeTable() *languages {
	t := &languages{make(map[string]*Language), make(map[string]*Language)}
	add := func(l *Language, names ...string) {
		for _, name := range names {
			t.names[name] = l
		}
	}
	t.systems(add)
	t.scripts(add)
	t.data(add)
	for file, name := range map[string]string{
		"dockerfile": "dockerfile", "containerfile": "dockerfile", "makefile": "makefile", "gnumakefile": "makefile", "justfile": "makefile",
		"go.mod": "gomod", "go.work": "gomod", ".bashrc": "sh", ".profile": "sh", ".zshrc": "sh", ".env": "sh", ".gitignore": "sh", ".dockerignore": "sh",
		".gitconfig": "toml", ".editorconfig": "toml", "cargo.lock": "toml", "gemfile": "ruby", "rakefile": "ruby", "cmakelists.txt": "cmake",
	} {
		t.files[file] = t.names[name]
	}
	return t
}

// systems adds languages that are compiled.
func (*languages) systems(add func(*Language, ...string)) {
	add(&Language{comments: []string{"//"}, spans: []span{block, double, letter, raw}, calls: true,
		words: with(with(words(Keyword, "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var"),
			Type, "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr"), Number, "true false nil iota")},
		"go", "golang")
	add(&Language{comments: []string{"//"}, words: words(Keyword, "module go require replace exclude retract toolchain tool use godebug ignore"), letters: "./-"}, "gomod", "mod")
	add(&Language{comments: []string{"//"}, calls: true, upper: true,
		spans: []span{block, {open: `r##"`, close: `"##`, class: Text, lines: true}, {open: `r#"`, close: `"#`, class: Text, lines: true}, {open: `r"`, close: `"`, class: Text, lines: true}, {open: `"`, close: `"`, class: Text, escape: '\\', lines: true}, letter, {open: "#[", close: "]", class: Key}, {open: "#![", close: "]", class: Key}},
		words: with(with(words(Keyword, "as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait type unsafe use where while"),
			Type, "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize"), Number, "true false")},
		"rust", "rs")
	c := "auto break case const continue default do else enum extern for goto if inline register restrict return sizeof static struct switch typedef union volatile while"
	cTypes := "bool char double float int int8_t int16_t int32_t int64_t long short signed size_t ssize_t uint8_t uint16_t uint32_t uint64_t unsigned void"
	directive := span{open: "#", close: " ", class: Key}
	add(&Language{comments: []string{"//"}, spans: []span{block, double, letter, directive}, calls: true, words: with(with(words(Keyword, c), Type, cTypes), Number, "true false NULL nullptr")}, "c", "h")
	add(&Language{comments: []string{"//"}, spans: []span{block, {open: `R"(`, close: `)"`, class: Text, lines: true}, double, letter, directive}, calls: true,
		words: with(with(words(Keyword, c+" alignas alignof and asm catch class co_await co_return co_yield concept consteval constexpr constinit const_cast decltype delete dynamic_cast explicit export final friend mutable namespace new noexcept not operator or override private protected public reinterpret_cast requires static_assert static_cast template this thread_local throw try typeid typename using virtual"),
			Type, cTypes+" string vector map wchar_t char8_t char16_t char32_t"), Number, "true false NULL nullptr")},
		"cpp", "c++", "cc", "cxx", "hpp", "hh", "hxx", "ino")
	add(&Language{comments: []string{"//"}, spans: []span{block, triple, double, letter}, calls: true, upper: true, letters: "@",
		words: with(with(words(Keyword, "abstract assert break case catch class continue default do else enum exports extends final finally for if implements import instanceof interface module native new non-sealed package permits private protected public record requires return sealed static strictfp super switch synchronized this throw throws transient try var volatile while yield"),
			Type, "boolean byte char double float int long short void"), Number, "true false null")},
		"java")
	add(&Language{comments: []string{"//"}, spans: []span{block, triple, double, letter}, calls: true, upper: true, letters: "@",
		words: with(words(Keyword, "abstract as break by catch class companion const constructor continue crossinline data do dynamic else enum external final finally for fun get if import in infix init inline inner interface internal is lateinit noinline object open operator out override package private protected public reified return sealed set super suspend tailrec this throw try typealias val var vararg when where while yield given extends def match case with implicit lazy trait forSome"),
			Number, "true false null")},
		"kotlin", "kt", "kts", "scala", "sc")
	add(&Language{comments: []string{"//"}, spans: []span{block, triple, double}, calls: true, upper: true, letters: "@",
		words: with(words(Keyword, "actor any as associatedtype async await break case catch class continue default defer deinit do else enum extension fallthrough fileprivate for func guard if import in indirect init inout internal is lazy let mutating nonisolated open operator override private protocol public repeat rethrows return self Self some static struct subscript super switch throw throws try typealias unowned var weak where while"),
			Number, "true false nil")},
		"swift")
	add(&Language{comments: []string{"//"}, spans: []span{block, {open: `@"`, close: `"`, class: Text, lines: true}, triple, double, letter, directive}, calls: true, upper: true,
		words: with(with(words(Keyword, "abstract as async await base break case catch checked class const continue default delegate do else enum event explicit extern finally fixed for foreach get global goto if implicit in init interface internal is lock namespace new operator out override params partial private protected public readonly record ref required return sealed set sizeof stackalloc static struct switch this throw try typeof unchecked unsafe using virtual volatile when where while with yield"),
			Type, "bool byte char decimal double dynamic float int long object sbyte short string uint ulong ushort var void"), Number, "true false null")},
		"csharp", "cs", "c#")
	add(&Language{comments: []string{"//"}, spans: []span{block, double, single}, calls: true, upper: true,
		words: with(with(words(Keyword, "enum extend extensions import map message max oneof option optional package public repeated required reserved returns rpc service stream syntax to weak"),
			Type, "bool bytes double fixed32 fixed64 float int32 int64 sfixed32 sfixed64 sint32 sint64 string uint32 uint64"), Number, "true false")},
		"protobuf", "proto")
}

// scripts adds languages that are run as they are.
func (*languages) scripts(add func(*Language, ...string)) {
	add(&Language{comments: []string{"#"}, spans: []span{triple, triples, double, single}, calls: true, upper: true, letters: "@",
		words: with(with(words(Keyword, "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try type while with yield"),
			Type, "bool bytes dict float frozenset int list object set str tuple"), Number, "True False None")},
		"python", "py", "pyi", "python3", "starlark", "bzl")
	script := "as async await break case catch class const continue debugger default delete do else export extends finally for from function get if import in instanceof let new of return set static super switch this throw try typeof var void while with yield"
	js := &Language{comments: []string{"//"}, spans: []span{block, double, single, backtick, pattern}, calls: true, upper: true, letters: "$#@", words: with(words(Keyword, script), Number, "true false null undefined NaN Infinity")}
	add(js, "javascript", "js", "mjs", "cjs", "jsx", "node")
	add(&Language{comments: js.comments, spans: js.spans, calls: true, upper: true, letters: js.letters,
		words: with(with(words(Keyword, script+" abstract asserts declare enum implements infer interface is keyof module namespace override private protected public readonly satisfies type unique"),
			Type, "any bigint boolean never number object string symbol unknown"), Number, "true false null undefined NaN Infinity")},
		"typescript", "ts", "tsx", "mts", "cts")
	shell := &Language{comments: []string{"#"}, spaced: true, spans: []span{{open: `"`, close: `"`, class: Text, escape: '\\', lines: true}, {open: "'", close: "'", class: Text, lines: true}}, sigil: '$', assigns: true, letters: "-",
		words: with(words(Keyword, "case do done elif else esac fi for function if in select then until while time break continue return exit"),
			Function, "alias cd command declare echo eval exec export hash let local printf pwd read readonly set shift source test trap type ulimit umask unalias unset wait sudo xargs env")}
	add(shell, "sh", "bash", "shell", "zsh", "fish", "ksh", "console", "shell-session", "env")
	add(&Language{comments: []string{"#"}, spans: []span{{open: "=begin", close: "=end", class: Comment, lines: true}, double, single, backtick}, calls: true, upper: true, letters: "@$?!",
		words: with(words(Keyword, "alias and begin break case class def defined? do else elsif end ensure extend for if in include loop module next not or private protected public raise redo require require_relative rescue retry return self super then undef unless until when while yield attr_accessor attr_reader attr_writer"),
			Number, "true false nil")},
		"ruby", "rb", "gemspec", "rake")
	add(&Language{comments: []string{"//", "#"}, spans: []span{block, double, single}, calls: true, upper: true, sigil: '$',
		words: with(words(Keyword, "abstract and array as break callable case catch class clone const continue declare default do echo else elseif empty enum extends final finally fn for foreach function global goto if implements include include_once instanceof insteadof interface isset list match namespace new or print private protected public readonly require require_once return static switch throw trait try unset use var while xor yield"),
			Number, "true false null TRUE FALSE NULL")},
		"php")
	add(&Language{comments: []string{"--"}, spans: []span{{open: "--[[", close: "]]", class: Comment, lines: true}, {open: "[[", close: "]]", class: Text, lines: true}, double, single}, calls: true,
		words: with(words(Keyword, "and break do else elseif end for function goto if in local not or repeat return then until while"), Number, "true false nil")},
		"lua")
	add(&Language{comments: []string{"--"}, spans: []span{block, {open: "'", close: "'", class: Text, lines: true}, {open: `"`, close: `"`, class: Key}}, anyCase: true, calls: true,
		words: with(with(words(Keyword, "add all alter analyze and any as asc begin between by cascade case check column commit conflict constraint create cross database default delete desc distinct do drop else end except exists explain false first for foreign from full function grant group having if ignore in index inner insert intersect into is join key last left like limit materialized natural not nothing nulls of offset on or order outer over partition pragma primary procedure references replace returning revoke right rollback row rows schema select set table temp temporary then to transaction trigger truncate union unique update using vacuum values view when where window with"),
			Type, "bigint blob boolean bytea char date datetime decimal double float int integer json jsonb numeric real serial smallint text time timestamp timestamptz uuid varchar"), Number, "null true")},
		"sql", "psql", "sqlite", "postgres", "postgresql", "mysql")
}

// data adds languages of data, configuration and documents.
func (*languages) data(add func(*Language, ...string)) {
	add(&Language{comments: []string{"//"}, spans: []span{block, double}, keys: true, words: words(Number, "true false null")}, "json", "jsonc", "json5", "jsonl", "ndjson", "webmanifest", "ipynb")
	add(&Language{comments: []string{"#"}, spaced: true, keys: true, letters: "-./",
		spans: []span{{open: `"`, close: `"`, class: Text, escape: '\\', after: ":-[,{"}, {open: "'", close: "'", class: Text, after: ":-[,{"}}, words: words(Number, "true false null yes no on off")}, "yaml", "yml")
	add(&Language{comments: []string{"#", ";"}, spaced: true, spans: []span{triple, triples, double, {open: "'", close: "'", class: Text}, {open: "[", close: "]", class: Type}}, assigns: true, letters: "-.", words: words(Number, "true false inf nan")}, "toml", "ini", "cfg", "conf", "properties", "service", "desktop")
	add(&Language{comments: []string{"#", "//"}, spans: []span{block, double}, calls: true, assigns: true, letters: "-", words: with(words(Keyword, "data dynamic for if in locals module moved output provider resource terraform variable"), Number, "true false null")}, "hcl", "tf", "terraform", "tfvars")
	add(&Language{markup: true, letters: "-:.", spans: []span{{open: "<!--", close: "-->", class: Comment, lines: true}, {open: `"`, close: `"`, class: Text, lines: true}, {open: "'", close: "'", class: Text, lines: true}}}, "html", "htm", "xml", "svg", "xhtml", "vue", "svelte", "xsd", "xsl", "plist", "csproj", "rss")
	add(&Language{comments: nil, spans: []span{block, double, single}, keys: true, calls: true, letters: "-@#.", words: words(Keyword, "@media @import @keyframes @font-face @supports @layer @container @property @use @include @mixin @extend @if @else @each @for @function @return !important")}, "css", "scss", "less")
	add(&Language{comments: []string{"#"}, spaced: true, spans: []span{double, single}, sigil: '$', letters: "-", words: words(Keyword, "ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR")}, "dockerfile", "docker", "containerfile")
	add(&Language{comments: []string{"#"}, spaced: true, spans: []span{double, single, {open: "$(", close: ")", class: Key, short: 80}}, sigil: '$', keys: true, assigns: true, letters: "-.%/", words: words(Keyword, "define else endef endif export ifdef ifeq ifndef ifneq include override unexport vpath")}, "makefile", "make", "mk", "just")
	add(&Language{comments: []string{"#"}, spans: []span{double, {open: "${", close: "}", class: Key, short: 80}}, anyCase: true, calls: true, words: words(Keyword, "add_executable add_library cmake_minimum_required else elseif endforeach endfunction endif endmacro endwhile find_package foreach function if include macro message project set target_include_directories target_link_libraries while")}, "cmake")
	add(&Language{patch: true}, "diff", "patch", "udiff")
}
