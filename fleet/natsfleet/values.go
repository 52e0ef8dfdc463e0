package natsfleet

import "context"

// A kind can have more records than fit into memory, and a scan yields them in the order
// of their names, which is not that of the stream. So a scan remembers which records
// there are, and the values only of those that come first in the stream, up to a bound.
// The others are read once more, some at a time, when it is their turn.

// usualScanBytes is how much a scan remembers of the messages that it has read.
const usualScanBytes = 32 << 20

// named is the last message of a record, with the record's name.
type named struct {
	name string
	stored
}

// Bounds of one read when values are read again.
const (
	valuesCount    = 200
	valuesBytes    = 1 << 20
	valuesSubjects = room / 2 // bytes of a request
)

// together returns how many of the first records are read at once.
func together(all []named) (n int) {
	bytes, subjects := 0, 0
	for _, one := range all {
		bytes += one.left
		subjects += len(one.subject) + len(`"",`)
		if n > 0 && (n == valuesCount || bytes > valuesBytes || subjects > valuesSubjects) {
			break
		}
		n++
	}
	return n
}

// values reads again the messages whose data was left out. Records that were dropped in
// the meantime are not in the result.
func (s *records) values(ctx context.Context, prefix string, some []named) ([]named, error) {
	var subjects []string
	for _, one := range some {
		if one.left > 0 {
			subjects = append(subjects, one.subject)
		}
	}
	if len(subjects) == 0 {
		return some, nil
	}
	now, err := s.lastsNow(ctx, prefix, subjects)
	if err != nil {
		return nil, err
	}
	var there []named
	for _, one := range some {
		if one.left > 0 {
			m, ok := now[one.subject]
			if !ok || m.header.Get(headerGone) != "" {
				continue
			}
			one.stored = m
		}
		there = append(there, one)
	}
	return there, nil
}
