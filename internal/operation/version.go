package operation

import (
	"cmp"
	"regexp"
	"strconv"
)

// VersionForm matches the three numbers of a version.
var VersionForm = regexp.MustCompile(`\b(\d+)\.(\d+)\.(\d+)`)

// CompareVersions compares two versions by their three numbers; ok is false when
// one has none.
func CompareVersions(a, b string) (order int, ok bool) {
	x, y := VersionForm.FindStringSubmatch(a), VersionForm.FindStringSubmatch(b)
	if x == nil || y == nil {
		return 0, false
	}
	for i := 1; i <= 3; i++ {
		m, _ := strconv.Atoi(x[i])
		n, _ := strconv.Atoi(y[i])
		if order = cmp.Compare(m, n); order != 0 {
			return order, true
		}
	}
	return 0, true
}
