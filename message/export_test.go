package message

// Kinds returns an empty message of each kind in the table, with its header.
func Kinds() []Message {
	var all []Message
	for _, k := range kinds {
		m := k.make()
		m.Head().Type, m.Head().Subtype = k.typ, k.subtype
		all = append(all, m)
	}
	return all
}
