// Package claudetest helps to test programs that drive the Claude Code CLI,
// without an account, without a network and without luck.
//
// # A CLI that does what you want
//
// [New] is a CLI without a process: a Transport for the SDK that plays a script
// on package host. Everything around the script is as with the real CLI:
// hooks and permissions are asked, tools give back what the script says, the
// result counts and costs. A few lines are a whole session:
//
//	cli := claudetest.New(
//		claudetest.UseTool("Bash", map[string]string{"command": "make"}),
//		claudetest.Say("It builds."),
//	)
//	result, err := claude.Ask(ctx, "Build it.", &claude.Options{Transport: cli, CanUseTool: policy})
//	cli.Transcript().WantRan(t, "Bash")
//
// It is fast and works in bubbles of testing/synctest. [NewCLI] takes a
// [Script] with more to say: computed answers, tools by name, permission
// rules, and faults ([Fault]): lines cut at any byte, glued or garbled, silence,
// slow reading, floods of stderr, exits and signals at any line. [NewHost] makes
// an agent of your own a CLI. [ParseScript] reads scripts from files. A [CLI]
// may serve any number of sessions, each of which begins the script anew.
//
// # A CLI that is a process
//
// Where a process is wanted, with pipes, signals and an exit code, [Main] lets
// the test binary be the CLI. TestMain calls it first, [Play] or [PlayFile] in
// the environment of the session say what to play:
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
// A [Transcript] has every line of a session, both ways. [Transcript.Tools],
// [Transcript.Hooks], [Transcript.Requests] and others read it, the methods that
// begin with Want fail a test, and [Golden] compares it with a file.
//
// [Record] writes the transcript of any session as it goes, also of one with
// the real CLI, secrets left out; [Redaction] says what counts as one. [Replay]
// plays a transcript to the SDK again, without the CLI, and says where a session
// first differs: in what the SDK wrote, in its order, in a reply too many.
//
//	rec := claudetest.Record(nil, file, nil) // nil: a child process
//	claude.Ask(ctx, prompt, &claude.Options{Transport: rec})
//	...
//	recording, err := claudetest.ReadTranscript(file)
//	...
//	claude.Ask(ctx, prompt, &claude.Options{Transport: claudetest.Replay(recording)})
//
// # A model that says what you want
//
// The CLI decides nothing by itself: a model behind an HTTP API tells it what
// to say and which tools to call. [Model] stands in for that API on loopback.
// The CLI is the real one, and everything it does around the model (tools,
// permissions, hooks, retries, interrupts) is what users will see:
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
// A script gives one [Reply] per call of the model, and a turn of the user is
// often several calls: one that asks for a tool, and one more with the result.
// When replies depend on what was asked, [NewModelFunc] computes them from the
// [ModelCall]. [ParseReplies] reads a script from JSON. Afterwards [Model.Calls]
// tells what the model was asked, and [Model.Unused] whether all was said.
//
// # When things go wrong
//
// Most of what is hard to test happens in the middle of a reply. [Reply.Hold]
// stops there until the test goes on, so that an interrupt comes at a known
// moment and not after a pause that is usually long enough. [Reply.Cut] breaks
// the connection, [Reply.CutWith] sends an error event, [Fail] answers with an
// HTTP error. The CLI tries again after nearly all of them, and each attempt
// takes the next reply of the script: one failing reply tests that a turn
// recovers, and [Reply.Forever] that it fails.
//
// # Side calls
//
// Besides the conversation the CLI runs errands: a title for the session, the
// verdict of a prompt hook, in older versions also warming up sub-agents and
// looking at shell commands. They must not eat the replies of a script, so a
// Model tells them apart: a call is a side call when
//
//   - it consists of the one word Warmup, or
//   - it offers no tools and asks for an answer by a JSON Schema, or
//   - it offers no tools, goes to a haiku model and carries neither thinking
//     nor context_management.
//
// Everything else belongs to a conversation, be it the user's or a
// sub-agent's. Sub-agents of newer versions run in the background, so nobody
// knows whose call comes first: script them with [Delegate], or use
// [NewModelFunc] and look at the first message. Conversations also include what a test asks for itself: compaction
// and side questions repeat the whole conversation, with tools, and take a
// reply.
//
// The rules come from watching versions 1.0.63, 2.0.0, 2.1.0, 2.1.112 and
// 2.1.325, not from a specification. The third one takes a conversation for an
// errand when it runs on a haiku model with every tool switched off and without
// thinking, as 2.1.0 does; [Model.HandleSide] answers that one.
//
// # Why there is no testing.TB
//
// Nothing here imports the testing package. Scripted models and CLIs are of use
// outside of tests as well: in examples, demonstrations and tools that a program
// links, which must not carry the flags and weight of package testing.
// Constructors return errors and values have a Close, so a test adds its own
// t.Cleanup; assertions take the small [TB], which every testing.TB is.
package claudetest
