package page

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"strings"
	"testing"
)

var drawIcons = flag.Bool("icons", false, "write icon-*.png")

// picture is an icon for a phone: the icon of the page, in pixels.
type picture struct {
	size  int
	round bool    // its corners are
	mark  float64 // the size of the mark; a phone may cut a fifth off each side of a picture that fills its frame
}

var pictures = map[string]picture{
	"icon-180.png": {180, false, 1}, "icon-192.png": {192, true, 1}, "icon-512.png": {512, true, 1}, "icon-mask.png": {512, false, 0.8},
}

// draw draws an icon. Its colours are few, so that the file is small.
func (p picture) draw() *image.Paletted {
	const shades = 16 // of the edges
	palette := color.Palette{color.NRGBA{}}
	for i := range shades {
		white := float64(i) / (shades - 1)
		mix := func(c float64) uint8 { return uint8(math.Round(c + (255-c)*white)) }
		palette = append(palette, color.NRGBA{mix(0x2b), mix(0x5f), mix(0xd9), 255})
	}
	for i := 1; i < shades; i++ {
		palette = append(palette, color.NRGBA{0x2b, 0x5f, 0xd9, uint8(255 * i / shades)})
	}
	m := image.NewPaletted(image.Rect(0, 0, p.size, p.size), palette)
	pixel := 32 / float64(p.size) // the drawing is 32 wide, as in icon.svg
	for y := range p.size {
		for x := range p.size {
			at := [2]float64{(float64(x) + 0.5) * pixel, (float64(y) + 0.5) * pixel}
			inside := 1.0
			if p.round {
				inside = cover(8-corner(at), pixel)
			}
			in := [2]float64{16 + (at[0]-16)/p.mark, 16 + (at[1]-16)/p.mark}
			far := min(apart(in, 9, 11, 14, 16), apart(in, 14, 16, 9, 21), apart(in, 16, 22, 24, 22))
			white := cover((1.5-far)*p.mark, pixel)
			switch {
			case inside <= 0:
			case inside < 1:
				if n := int(inside * shades); n > 0 {
					m.SetColorIndex(x, y, uint8(shades+n))
				}
			default:
				m.SetColorIndex(x, y, uint8(1+math.Round(white*(shades-1))))
			}
		}
	}
	return m
}

// cover returns how much of a pixel is covered, by its distance to the edge.
func cover(distance, pixel float64) float64 { return max(0, min(1, distance/pixel+0.5)) }

// corner returns how far a place is from the centre of the nearest corner's circle, of
// radius 8; less inside.
func corner(at [2]float64) float64 {
	dx, dy := max(math.Abs(at[0]-16)-8, 0), max(math.Abs(at[1]-16)-8, 0)
	return math.Hypot(dx, dy)
}

// apart returns how far a place is from a line.
func apart(at [2]float64, x1, y1, x2, y2 float64) float64 {
	dx, dy := x2-x1, y2-y1
	t := max(0, min(1, ((at[0]-x1)*dx+(at[1]-y1)*dy)/(dx*dx+dy*dy)))
	return math.Hypot(at[0]-x1-t*dx, at[1]-y1-t*dy)
}

// The icons for phones are those that draw makes: go test ./serve/page -run TestIcons
// -icons writes them.
func TestIcons(t *testing.T) {
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	for name, p := range pictures {
		drawn := p.draw()
		if *drawIcons {
			var out bytes.Buffer
			if err := encoder.Encode(&out, drawn); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if kept.Bounds() != drawn.Bounds() || len(data) > 8<<10 {
			t.Fatalf("%s is %v, %d bytes", name, kept.Bounds(), len(data))
		}
		for i := range p.size { // the diagonal and a row through the mark
			for _, at := range []image.Point{{i, i}, {i, p.size * 22 / 32}} {
				if r, g, b, a := kept.At(at.X, at.Y).RGBA(); color.NRGBA64Model.Convert(drawn.At(at.X, at.Y)) != color.NRGBA64Model.Convert(color.RGBA64{uint16(r), uint16(g), uint16(b), uint16(a)}) {
					t.Fatalf("%s differs from the drawing at %v", name, at)
				}
			}
		}
	}
}

// Everything that the manifest names is served, in the size that it says.
func TestManifest(t *testing.T) {
	all, err := packAssets()
	if err != nil {
		t.Fatal(err)
	}
	type icon struct{ Src, Sizes, Type string }
	var m struct {
		ID, Name  string
		Start     string `json:"start_url"`
		Icons     []icon
		Shortcuts []struct {
			URL   string
			Icons []icon
		}
	}
	if err := json.Unmarshal(all.byName["app.webmanifest"].content, &m); err != nil {
		t.Fatal(err)
	}
	icons := m.Icons
	for _, s := range m.Shortcuts {
		icons = append(icons, s.Icons...)
	}
	if m.ID == "" || m.Name == "" || m.Start != "/" || len(icons) < 5 {
		t.Errorf("the manifest is %+v", m)
	}
	for _, i := range icons {
		name, ok := strings.CutPrefix(i.Src, "/static/")
		f := all.byName[name]
		if !ok || f.kind != i.Type {
			t.Errorf("%s is %q, not %q", i.Src, f.kind, i.Type)
		}
		if p, ok := pictures[name]; ok && i.Sizes != fmt.Sprintf("%[1]dx%[1]d", p.size) {
			t.Errorf("%s is said to be %s", i.Src, i.Sizes)
		}
	}
}
