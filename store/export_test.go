package store

// CheckedID checks an entry and returns its ID.
func (e Entry) CheckedID() (string, error) { return e.checkedID() }
