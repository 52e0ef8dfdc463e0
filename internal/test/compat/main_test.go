package main

import "testing"

// A page that is written again keeps what others have written into it.
func TestKeep(t *testing.T) {
	const own = "# Page\n\n## Features\n\n| new |\n\n## Control operations\n\n| new |\n"
	const theirs = "\n## Stores\n\n| theirs |\n"
	old := "# Page\n\n## Features\n\n| old |\n" + theirs + "\n## Control operations\n\n| old |\n"
	if got := keep(old, own); got != own+theirs {
		t.Errorf("the page is\n%s", got)
	}
	if got := keep(own+theirs, own); got != own+theirs {
		t.Errorf("written again it is\n%s", got)
	}
	if got := keep("", own); got != own {
		t.Errorf("without an old one it is\n%s", got)
	}
}

// A page that is read and written again stays the same.
func TestReadPage(t *testing.T) {
	all := []*measured{newMeasured("1.0.0"), newMeasured("2.0.0")}
	for i, m := range all {
		for _, p := range probes() {
			m.features[p.name] = []string{no, yes}[i]
		}
		for j, op := range operations() {
			m.operations[op.Subtype] = []string{no, yes, unclear}[(i+j)%3]
		}
	}
	page := render(all)
	if again := render(readPage(keep(page, page+"\n## Stores\n\n| a | b |\n"))); again != page {
		t.Errorf("read and written again the page is\n%s, want\n%s", again, page)
	}
}
