package claude

import (
	"slices"
)

// OptionRow is a row of the table of options, for tests.
type OptionRow struct {
	Field    string
	At       func(*Options) any
	Goes     []string // where, sorted
	Callback bool
	Ignored  bool // by a CLI that is too old for it
	Choices  []string
	Lacks    string // the versions of since
	Has      string
}

// OptionRows returns the table of options.
func OptionRows() (rows []OptionRow) {
	for r := range optionRows {
		row := OptionRow{
			Field: r.field, At: r.at, Goes: r.goes(), Callback: r.callback, Ignored: r.ignored(),
			Choices: r.choices, Lacks: r.since.lacks, Has: r.since.has,
		}
		for other := range optionRows {
			if r.with != "" && other.field == r.with {
				row.Goes = append(row.Goes, other.goes()...)
			}
		}
		slices.Sort(row.Goes)
		row.Goes = slices.Compact(row.Goes)
		rows = append(rows, row)
	}
	return rows
}

func (r *option) goes() (to []string) {
	for where, there := range map[string]bool{
		"command line": r.flag != "" || r.args != nil,
		"environment":  r.env != nil,
		"file":         r.file != "",
		"handshake":    r.handshake != nil,
		"process":      r.process,
	} {
		if there {
			to = append(to, where)
		}
	}
	return to
}

// Clone is the copy that a session makes of its options.
func (o *Options) Clone() *Options { return o.clone() }

// Missing reports whether a version lacks what came with since.
func Missing(lacks, has, version string) bool { return since{lacks, has}.missing(version) }
