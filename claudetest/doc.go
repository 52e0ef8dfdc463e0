// Package claudetest helps to test programs that drive the Claude Code CLI,
// without an account, without a network and without relying on luck.
//
// # A CLI that does what you want
//
// [New] is a CLI without a process: a Transport for the SDK that plays a
// script on package host. Everything around the script works as in the real
// CLI: hooks and permissions are asked, tools return their scripted output, and
// the result has counts and costs. A few lines make a whole session:
//
//	cli := claudetest.New(
//		claudetest.UseTool("Bash", map[string]string{"command": "make"}),
//		claudetest.Say("It builds."),
//	)
//	result, err := claude.Ask(ctx, "Build it.", &claude.Options{Transport: cli, CanUseTool: policy})
//	cli.Recording().WantRan(t, "Bash")
//
// It is fast and works in bubbles of testing/synctest. [NewCLI] takes a
// [Script] with more in it: computed answers, tools by name, permission rules,
// and faults ([Fault]): lines cut at any byte, glued or garbled, silence, slow
// reading, floods of stderr, exits and signals at any line. [NewHost] makes a
// CLI from your own agent. [ParseScript] reads scripts from files. A [CLI] may
// serve any number of sessions; each starts the script from the beginning.
//
// # A CLI that is a process
//
// If you want a process, with pipes, signals and an exit code, [Main] lets the
// test binary be the CLI. Call it first in TestMain. [Play] or [PlayFile] in
// the environment of the session selects the script:
//
//	func TestMain(m *testing.M) {
//		claudetest.Main(map[string]*claudetest.Script{"greeter": greeter})
//		os.Exit(m.Run())
//	}
//
//	opts := &claude.Options{CLIPath: os.Args[0], Env: append(os.Environ(), claudetest.Play("greeter"))}
//
// A program whose main calls [Main] or [Exec] is a CLI that any SDK can start,
// in any language: cmd/claudectl of this module is one, as "claudectl fake".
//
// # What was said
//
// A [Recording] has every line of a session, both ways. [Recording.Tools],
// [Recording.Hooks], [Recording.Requests] and others read it, the methods that
// begin with Want fail a test, and [Golden] compares it with a file.
//
// [Record] writes the recording of any session as it runs, even with the real
// CLI, and leaves secrets out; [Redaction] defines what counts as one. [Replay]
// plays a recording to the SDK again, without the CLI, and reports where a
// session first differs: in what the SDK wrote, in its order, or in an extra
// reply.
//
//	rec := claudetest.Record(nil, file, nil) // nil: a child process
//	claude.Ask(ctx, prompt, &claude.Options{Transport: rec})
//	...
//	recording, err := claudetest.ReadRecording(file)
//	...
//	claude.Ask(ctx, prompt, &claude.Options{Transport: claudetest.Replay(recording)})
//
// # A model that says what you want
//
// The CLI decides nothing by itself: a model behind an HTTP API tells it what
// to say and which tools to call. [Model] replaces that API on loopback. The
// CLI is the real one, and does everything around the model (tools, permissions,
// hooks, retries, interrupts) as it does for users:
//
//	model := claudetest.NewModel(
//		claudetest.UseTool("Read", map[string]any{"file_path": "/repo/go.mod"}),
//		claudetest.Say("The module is called example."),
//	)
//	baseURL, err := model.Start()
//	...
//	defer model.Close()
//	cmd.Env = append(model.Env(home), "PATH="+os.Getenv("PATH"))
//
// A script gives one [Reply] per model call, and one user turn often takes
// several calls: one that asks for a tool, and another with the result. If
// replies depend on what was asked, [NewModelFunc] computes them from the
// [ModelCall]. [ParseReplies] reads a script from JSON. Afterwards,
// [Model.Calls] returns the requests to the model, and [Model.Unused] the
// number of unused replies.
//
// # When things go wrong
//
// Most things that are hard to test happen in the middle of a reply. [Reply.Hold]
// stops there until the test continues, so that an interrupt comes at a known
// moment and not after a pause that is usually long enough. [Reply.Cut] breaks
// the connection, [Reply.CutWith] sends an error event, [Fail] answers with an
// HTTP error. The CLI tries again after nearly all of them, and each attempt
// takes the next reply of the script: one failing reply tests that a turn
// recovers, and [Reply.Forever] that it fails.
//
// # Side calls
//
// Besides the conversation, the CLI makes other calls: for a title of the
// session, for the verdict of a prompt hook, and in older versions also to
// warm up subagents and to look at shell commands. They must not use up the
// replies of a script, so a Model distinguishes them: a call is a side call if
//
//   - it consists of the one word Warmup, or
//   - it offers no tools and asks for an answer by a JSON Schema, or
//   - it offers no tools, goes to a haiku model and carries neither thinking
//     nor context_management.
//
// Everything else belongs to a conversation, either the user's or a
// subagent's. Subagents of newer versions run in the background, so the order
// of calls is not known: script them with [Delegate], or use [NewModelFunc]
// and look at the first message. Conversations also include what a test itself
// asks for: compaction and side questions repeat the whole conversation, with
// tools, and take a reply.
//
// The rules come from observing versions 1.0.63, 2.0.0, 2.1.0, 2.1.112 and
// 2.1.325, not from a specification. The third rule mistakes a conversation
// for a side call if it runs on a haiku model with every tool turned off and
// without thinking, as 2.1.0 does; [Model.HandleSide] answers that one.
//
// # Why not testing.TB
//
// Nothing here imports the testing package. Scripted models and CLIs are also
// useful outside tests: in examples, demonstrations and tools that a program
// links, which must not carry the flags and weight of package testing.
// Constructors return errors and values have a Close, so a test adds its own
// t.Cleanup; assertions take the small [TB], which every testing.TB
// implements.
package claudetest
