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
