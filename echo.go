package claude

import "slices"

// use is what a session is opened for.
type use int

const (
	forSession  use = iota // many prompts
	withoutEcho            // many prompts, to a CLI that has refused to echo them
	forOnePrompt
)

// echoFlag makes the CLI repeat each prompt under its id where it takes it.
const echoFlag = "--replay-user-messages"

// When the CLI learnt to echo prompts, and when to name in a result those that
// it answers. In between only echoes say which answer is whose.
var (
	sinceEchoes = since{"1.0.85", "1.0.128"}
	sinceNames  = since{"2.1.0", "2.1.325"}
)

// askForEchoes adds the flag for a CLI that names no prompts. It has to be on
// the command line before the CLI can be asked for its version, so what is
// installed must tell; if it does not, the flag is added too, since a newer CLI
// does nothing worse than to write one more line for each prompt. What a
// Transport of the user's starts is not known and gets what Options say.
func (p *plan) askForEchoes(o *Options) {
	if o.Transport != nil || o.ReplayUserMessages || hasFlag(p.args, echoFlag) {
		return
	}
	version := installedVersion(o.CLIPath, p.env)
	p.silent = sinceEchoes.missing(version)
	if p.silent || sinceNames.known(version) {
		return
	}
	p.echoes = true
	p.args = slices.Insert(p.args, 0, echoFlag)
}

// refusesEchoes reports whether the CLI has ended because it does not know the
// flag, which it was not clear that it would.
func (s *Session) refusesEchoes() bool {
	if !s.plan.echoes || s.heard.Load() {
		return false
	}
	flag, unknown := unknownOption(stderrTail(s.conn))
	return unknown && flag == echoFlag
}
