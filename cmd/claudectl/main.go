package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/sandbox"
)

func main() {
	sandbox.Init()       // does not return if this is the helper inside a sandbox
	claudetest.Main(nil) // does not return if the environment names a script to play
	// With a receiver for the signal, a write to a pipe without a reader fails,
	// instead of ending the program with its folders left behind.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}

// always are the flags that every command line may have.
type always struct {
	JSON    bool             `name:"json" help:"Write JSON instead of text."`
	Version kong.VersionFlag `help:"Show the version of this program."`
}

// forEditors is the command that editors start.
type forEditors struct {
	ACP acpCommand `cmd:"" name:"acp" help:"Be an agent for editors that speak the Agent Client Protocol."`
}

// commands is the command line.
type commands struct {
	always

	Demo     demoCommand     `cmd:"" help:"Show a whole session with a simulated agent."`
	Run      runCommand      `cmd:"" help:"Send a prompt and show the answer."`
	Doctor   doctorCommand   `cmd:"" help:"Check what is installed and whether it works."`
	Record   recordCommand   `cmd:"" help:"Record what an SDK and the CLI say to each other."`
	Inspect  inspectCommand  `cmd:"" help:"Show a recording as text, as JSON or as a page."`
	Sessions sessionsCommand `cmd:"" help:"List, show and manage the sessions on this disk."`
	Serve    serveCommand    `cmd:"" help:"Serve conversations, with an inbox of approvals, on HTTP."`
	forEditors
	Fake     fakeCommand     `cmd:"" help:"Act as a CLI that plays a script or a recording."`
	Parity   parityCommand   `cmd:"" help:"Show which parts of the official SDKs this build offers."`
	Versions versionsCommand `cmd:"" help:"Show what each version of the CLI can do."`

	Completion completionCommand `cmd:"" help:"Print a completion script for bash, zsh or fish."`

	Complete completeCommand `cmd:"" hidden:""`
	Wait     waitCommand     `cmd:"" hidden:""`
}

// run is the whole program: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	c := newConsole(ctx, stdin, stdout, stderr, env)
	answered := false // by help or version, which ask to exit and let the parser continue
	line, common := grammar(args)
	parser, err := newParser(line, c, kong.Exit(func(int) { answered = true }))
	if err != nil {
		return c.fail(err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	call, err := parser.Parse(theirs(args))
	if answered {
		return c.fail(because(c.ctx, nil))
	}
	c.json = common.JSON
	if err != nil {
		c.json = slices.Contains(args, "--json") // nothing was filled in
		return c.fail(because(c.ctx, &failure{exitUsage, err}))
	}
	return c.fail(because(c.ctx, call.Run()))
}

// grammar returns the command line to parse, with the part that all commands have. To
// describe every command to the parser takes a third of the time that an editor waits
// for its agent, so for that there is only the one.
func grammar(args []string) (line any, common *always) {
	if len(args) > 0 && args[0] == "acp" {
		l := new(struct {
			always
			forEditors
		})
		return l, &l.always
	}
	l := new(commands)
	return l, &l.always
}

// theirs marks what follows the script of fake as the command line of the CLI:
// its flags are not ours, even if they have the same names.
func theirs(args []string) []string {
	if len(args) < 3 || args[0] != "fake" || strings.HasPrefix(args[1], "-") || args[2] == "--" {
		return args
	}
	return slices.Insert(slices.Clone(args), 2, "--")
}

func newParser(line any, c *console, more ...kong.Option) (*kong.Kong, error) {
	parser, err := kong.New(line, append(more,
		kong.Name("claudectl"),
		kong.Help(printHelp),
		kong.Vars{"version": "claudectl " + claude.Version},
		kong.Writers(c.stdout, c.stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Bind(c),
	)...)
	if err == nil {
		parser.Model.HelpFlag.Help = "Show this help, or the help of a command."
	}
	return parser, err
}
