// Package intake knows which prompts a CLI was given while one of its turns runs, and how
// far the CLI has got with each. It does nothing: what the fleet does and the frames of the
// CLI are its events, and it decides whether the CLI gets another prompt, and which of them
// a result answers.
//
// A prompt that steers goes a way with three places:
//
//	Give ──► given ──► taken ──► a result names it
//	           │  a frame: started
//	           └──► Forget: taken back
//
// The CLI takes a given prompt into the turn that runs when it has the results of tools, or
// begins another turn with it when the first has ended. Either way it reports "started", and
// a result names the prompt in the end. There is at most one prompt between given and
// taken: the CLI would put several into one turn, and the transcript could not show how
// far each got. An id is given to a CLI once: it ignores one that it has seen.
//
// A test explores every order of events of three prompts, with a CLI that may do all of that,
// and of frames that come late or twice.
package intake
