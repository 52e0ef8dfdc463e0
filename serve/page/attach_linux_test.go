package page_test

import "testing"

// give makes a picture of some pixels, with noise, and gives it to the page.
const give = `(async (how, side) => {
	const canvas = document.createElement("canvas");
	canvas.width = canvas.height = side;
	const pen = canvas.getContext("2d"), data = pen.createImageData(side, side);
	for (let i = 0, n = 1; i < data.data.length; i++) data.data[i] = i % 4 === 3 ? 255 : (n = (n * 16807) % 2147483647) & 255;
	pen.putImageData(data, 0, 0);
	const blob = await new Promise(done => canvas.toBlob(done, "image/png"));
	const given = new DataTransfer();
	given.items.add(new File([blob], how + ".png", { type: "image/png" }));
	given.items.add(new File(["plain text"], how + ".txt", { type: "text/plain" }));
	const text = document.getElementById("prompt");
	if (how === "paste") text.dispatchEvent(new ClipboardEvent("paste", { clipboardData: given, bubbles: true, cancelable: true }));
	if (how === "drop") document.querySelector("main").dispatchEvent(new DragEvent("drop", { dataTransfer: given, bubbles: true, cancelable: true }));
	if (how === "camera") { const field = document.querySelector("input[type=file]"); field.files = given.files; field.dispatchEvent(new Event("change", { bubbles: true })); }
	return blob.size;
})`

// Files that are pasted, dropped or chosen are shown, can be removed, and are sent. A
// large picture is made smaller. What is refused leaves the text alone.
func TestAttachInBrowser(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	for n, width := range []int{1280, 390} {
		b.Resize(width, 844, "light")
		b.Load(t, r.http.URL+path)
		b.Wait(t, `document.getElementById("prompt")`)
		b.Eval(t, `document.getElementById("prompt").value = "Look at these"`)
		for i, how := range []string{"paste", "drop", "camera"} {
			side := "40"
			if how == "camera" {
				side = "2000"
			}
			b.Eval(t, give+`("`+how+`", `+side+`)`)
			b.Wait(t, `document.querySelectorAll(".attach-list li").length === `+[]string{"2", "4", "6"}[i])
		}
		if got := b.Eval(t, `(() => { const f = [...document.querySelector("input[type=file]").files].find(f => f.name === "camera.jpg"); return f && f.type === "image/jpeg" && f.size < 400 * 1024 })()`); got != true {
			t.Errorf("the photo was not made smaller: %v", b.Eval(t, `[...document.querySelector("input[type=file]").files].map(f => f.name + f.size).join()`))
		}
		b.Eval(t, `document.querySelectorAll(".attach-list button").forEach((button, i) => { if (i === 2) button.click() })`)
		b.Wait(t, `document.querySelectorAll(".attach-list li").length === 5`)
		b.Eval(t, `(() => { const given = new DataTransfer(); for (let i = 0; i < 7; i++) given.items.add(new File(["x"], "more" + i + ".txt")); given.items.add(new File(["x"], "a.zip", { type: "application/zip" })); document.getElementById("prompt").dispatchEvent(new ClipboardEvent("paste", { clipboardData: given, bubbles: true, cancelable: true })) })()`)
		b.Wait(t, `document.querySelector(".attach-refused").checkVisibility() && document.querySelector(".attach-refused").textContent.includes("takes 10 files")`)
		if got := b.Eval(t, `document.getElementById("prompt").value + document.querySelectorAll(".attach-list li").length`); got != "Look at these10" {
			t.Errorf("after a refusal: %v", got)
		}
		b.Eval(t, `document.getElementById("send").click()`)
		b.Wait(t, `document.querySelector(".attached img")?.complete && document.querySelectorAll(".attach-list li").length === 0 && document.getElementById("prompt").value === ""`)
		b.Wait(t, `[...document.querySelectorAll(".attached img")].every(i => i.naturalWidth > 0)`) // each is loaded on its own
		if got := b.Eval(t, `document.documentElement.scrollWidth <= innerWidth`); got != true {
			t.Errorf("at %d px the page is wider than the window", width)
		}
		r.ended(path, n+2)
	}
	complaints(t, r, b)
}

// A prompt that is sent while its pictures are still made smaller has all of them, and
// what an office program copies is pasted as text.
func TestAttachInAHurry(t *testing.T) {
	r := newRig(t)
	b := chromium.Open(t)
	r.open(b)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	b.Load(t, r.http.URL+path)
	b.Wait(t, `document.getElementById("prompt")`)
	if got := b.Eval(t, `(() => { const given = new DataTransfer(); given.items.add(new File(["x"], "cells.png", { type: "image/png" })); given.setData("text/plain", "1"); given.setData("text/html", "<b>1</b>"); return document.getElementById("prompt").dispatchEvent(new ClipboardEvent("paste", { clipboardData: given, bubbles: true, cancelable: true })) })()`); got != true {
		t.Error("the text of cells is not pasted")
	}
	b.Eval(t, `document.getElementById("prompt").value = "Look at these"`)
	b.Eval(t, `new Promise(done => { const canvas = document.createElement("canvas"); canvas.width = canvas.height = 2000; canvas.getContext("2d").fillRect(9, 9, 99, 99); canvas.toBlob(picture => {
		for (const name of ["one.png", "two.png"]) {
			const given = new DataTransfer(); given.items.add(new File([picture], name, { type: "image/png" }));
			document.getElementById("prompt").dispatchEvent(new ClipboardEvent("paste", { clipboardData: given, bubbles: true, cancelable: true }));
		}
		document.getElementById("send").click(); done(true) }) })`)
	b.Wait(t, `document.querySelectorAll(".attached img").length === 2 && document.getElementById("prompt").value === ""`)
	r.ended(path, 2)
	complaints(t, r, b)
}
