package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// description summarises the program.
const description = "Drive the Claude Code CLI from a shell, look at what it says, or play it."

// printHelp writes the help: that of the whole program in an order for people who
// see it for the first time, that of a command as kong has it.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	if ctx.Selected() != nil {
		return commandHelp(options, ctx)
	}
	_, err := fmt.Fprint(ctx.Stdout, programHelp(ctx.Model))
	return err
}

// commandHelp writes the help of a command. If it has commands of its own and one of
// them is meant when none is named, the flags of that one follow.
func commandHelp(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	usual := ctx.Selected().DefaultCmd
	if usual == nil {
		return nil
	}
	whole, err := kong.Trace(ctx.Kong, strings.Fields(usual.FullPath())[1:])
	if err != nil {
		return err
	}
	fmt.Fprintf(ctx.Stdout, "\nWithout a command it is \"%s\":\n\n", usual.FullPath())
	return kong.DefaultHelpPrinter(options, whole)
}

// programHelp is the help of the whole program: commands first, exit codes last.
func programHelp(app *kong.Application) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage: %s COMMAND [flags]\n\nCommands:\n", description, app.Name)
	for _, command := range app.Children {
		if !command.Hidden {
			fmt.Fprintf(&b, "  %-10s  %s\n", command.Name, command.Help)
		}
	}
	b.WriteString("\nFlags:\n")
	for _, flag := range app.Flags {
		short := "    "
		if flag.Short != 0 {
			short = fmt.Sprintf("-%c, ", flag.Short)
		}
		fmt.Fprintf(&b, "  %s%-9s  %s\n", short, "--"+flag.Name, flag.Help)
	}
	fmt.Fprintf(&b, "\nNew here? Try \"%s demo\". For the flags of a command, \"%[1]s COMMAND --help\".\n\nExit codes:\n", app.Name)
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, e.mean)
	}
	return b.String()
}
