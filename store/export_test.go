package store

import "time"

// CheckedID checks an entry and returns its ID.
func (e Entry) CheckedID() (string, error) { return e.checkedID() }

// PollEvery sets how often a watch looks for what other processes have changed.
func (s *FileStore) PollEvery(d time.Duration) { s.poll = d }
