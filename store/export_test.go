package store

// CheckedID is what a store uses that checks an entry and needs its ID.
func (e Entry) CheckedID() (string, error) { return e.checkedID() }
