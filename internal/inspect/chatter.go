package inspect

// chatter reports whether an exchange is a hook that had nothing to say, which a
// reader of the conversation can do without.
func (x *Exchange) chatter() bool {
	return x.Kind == KindHook && x.Outcome == Answered && !x.denies && !x.Changed && x.Answer == noOpinion
}

// chatter reports whether an item is such an exchange.
func (it *Item) chatter() bool { return it.Exchange != nil && it.Exchange.chatter() }

// noOpinion is the answer of a hook that lets things take their course.
const noOpinion = "no opinion"
