// Package browser drives a headless Chromium, for tests of the pages that this
// module makes.
//
// [Open] starts one with an empty tab, [Chromium] is one that all tests of a
// package share, and [Browser] loads pages in it, presses
// keys, evaluates expressions, takes screenshots and lists what the browser
// complains about. [Browser.Violations] asks axe-core what on a page people with
// disabilities cannot use. axe-core is fetched by npm once, at a pinned version,
// and put into the page past its Content-Security-Policy.
//
// Tests that open a browser are of the long level: see package long.
package browser
