package sqlstore

import (
	"strconv"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// order sees to it that the changes of a record come in the order in which they were made. Each
// process announces its own, so one can overtake another. It remembers the last change of the
// records that were changed lately.
type order struct {
	mu           sync.Mutex
	last, before map[store.RecordKey]int64 // the numbers of changes; before is the older half
	forgotten    int64                     // the highest number that is in neither
}

// maxRemembered is how many records are in each half.
const maxRemembered = 5000

// sort reads notes. It returns the changes that come in order, and false if there were others:
// readers must look at everything then.
func (o *order) sort(text string) (changes []store.Changed, whole bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	whole = true
	for line := range strings.SplitSeq(text, "\n") {
		project, rest, _ := strings.Cut(line, " ")
		number, what, _ := strings.Cut(rest, " ")
		n, err := strconv.ParseInt(number, 10, 64)
		c, wrong := storeimpl.ParseText(project, what)
		switch {
		case err != nil || wrong != nil: // also "missed"
			whole = false
		case c.Record == store.RecordKey{}:
			changes = append(changes, c)
		default:
			known, fits := o.known(c.Record), false
			if fits = n > known; fits {
				changes = append(changes, c)
				o.remember(c.Record, n)
			}
			whole = whole && (fits || n == known) // the same one again: it was sent twice
		}
	}
	return changes, whole
}

// known returns the number of the last change of a record, or the highest that it may have had.
func (o *order) known(k store.RecordKey) int64 {
	if n, ok := o.last[k]; ok {
		return n
	}
	if n, ok := o.before[k]; ok {
		return n
	}
	return o.forgotten
}

// remember notes the last change of a record.
func (o *order) remember(k store.RecordKey, n int64) {
	if len(o.last) >= maxRemembered {
		for _, n := range o.before {
			o.forgotten = max(o.forgotten, n)
		}
		o.before, o.last = o.last, nil
	}
	if o.last == nil {
		o.last = make(map[store.RecordKey]int64)
	}
	o.last[k] = n
}
