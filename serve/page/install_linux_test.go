package page_test

import (
	"testing"
)

// A phone can install the page as an app: Chromium finds nothing that it lacks, and its
// frame has the colour of the bar in each theme.
func TestInstallable(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	var manifest struct {
		URL    string `json:"url"`
		Errors []struct{ Message string }
		Data   string
	}
	b.Must("Page.getAppManifest", map[string]any{}, &manifest)
	if manifest.URL == "" || len(manifest.Errors) > 0 || manifest.Data == "" {
		t.Errorf("the manifest is %+v", manifest)
	}
	var lacks struct {
		Errors []struct {
			ID        string `json:"errorId"`
			Arguments []struct{ Name, Value string }
		} `json:"installabilityErrors"`
	}
	b.Must("Page.getInstallabilityErrors", map[string]any{}, &lacks)
	for _, e := range lacks.Errors {
		if e.ID != "in-incognito" { // so is every browser of a test
			t.Errorf("it cannot be installed: %+v", e)
		}
	}
	for _, c := range []struct{ scheme, theme, want string }{
		{"light", "", "rgb(255, 255, 255)"}, {"dark", "", "rgb(24, 28, 35)"}, {"light", "dark", "rgb(24, 28, 35)"}, {"dark", "light", "rgb(255, 255, 255)"},
	} {
		b.Resize(390, 844, c.scheme)
		b.Eval(t, `localStorage.setItem("theme", "`+c.theme+`")`)
		b.Load(t, r.http.URL+"/")
		b.Want(t, `(() => {
			const probe = document.createElement("p");
			probe.style.color = [...document.querySelectorAll("meta[name=theme-color]")].find(m => matchMedia(m.media).matches).content;
			document.body.append(probe);
			return [getComputedStyle(probe).color, getComputedStyle(document.querySelector(".bar")).backgroundColor].join(" ");
		})()`, c.want+" "+c.want)
	}
	complaints(t, r, b)
}
