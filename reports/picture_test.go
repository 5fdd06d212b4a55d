package reports

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"testing"
)

// shrinkage is by how much the golden picture of a PNG is smaller than the PNG, in each direction: large enough that
// the files stay small, small enough that a person still can read them.
const shrinkage = 3

// mostShade is how far a colour of a golden picture may be off, of 255. Other processors round a little differently at
// the edges of shapes, and the mean over shrinkage^2 dots makes little of it.
const mostShade = 6

// goldenPicture holds a PNG against testdata/NAME.png, a smaller picture of it, or writes that.
func goldenPicture(t *testing.T, name string, file []byte) {
	t.Helper()
	whole, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	small := smaller(whole)
	path := filepath.Join("testdata", name+".png")
	if *update {
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, small); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".png", b.Bytes())
		return
	}
	want, err := png.Decode(bytes.NewReader([]byte(readFile(t, "testdata", name+".png"))))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if want.Bounds() != small.Bounds() {
		t.Errorf("%s is %v large, and the picture %v; if that is meant, run the test with -update", path, want.Bounds(),
			small.Bounds())
		return
	}
	if x, y, off := worstDot(want, small); off > mostShade {
		t.Errorf("%s differs by up to %d of 255, most at %d,%d; if that is meant, run the test with -update", path, off, x, y)
	}
}

// smaller takes the mean of each square of dots.
func smaller(whole image.Image) *image.RGBA {
	bounds := whole.Bounds()
	small := image.NewRGBA(image.Rect(0, 0, bounds.Dx()/shrinkage, bounds.Dy()/shrinkage))
	for y := range small.Bounds().Dy() {
		for x := range small.Bounds().Dx() {
			var sum [3]uint32
			for i := range shrinkage * shrinkage {
				r, g, b, _ := whole.At(bounds.Min.X+x*shrinkage+i%shrinkage, bounds.Min.Y+y*shrinkage+i/shrinkage).RGBA()
				sum[0], sum[1], sum[2] = sum[0]+r>>8, sum[1]+g>>8, sum[2]+b>>8
			}
			const n = shrinkage * shrinkage
			small.SetRGBA(x, y, color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255})
		}
	}
	return small
}

// worstDot finds the dot at which two pictures of one size differ most.
func worstDot(one, other image.Image) (atX, atY, off int) {
	for y := range one.Bounds().Dy() {
		for x := range one.Bounds().Dx() {
			r, g, b, _ := one.At(x, y).RGBA()
			r2, g2, b2, _ := other.At(x, y).RGBA()
			for _, d := range []int{int(r>>8) - int(r2>>8), int(g>>8) - int(g2>>8), int(b>>8) - int(b2>>8)} {
				if d = max(d, -d); d > off {
					atX, atY, off = x, y, d
				}
			}
		}
	}
	return atX, atY, off
}

// TestGoldenPicturesCanFail moves one bar of a picture by a dot and paints another a little darker.
func TestGoldenPicturesCanFail(t *testing.T) {
	draw := func(left int, shade uint8) image.Image {
		canvas := image.NewRGBA(image.Rect(0, 0, 90, 60))
		for y := range 60 {
			for x := range 90 {
				canvas.SetRGBA(x, y, color.RGBA{255, 255, 255, 255})
				if x >= left && x < left+9 {
					canvas.SetRGBA(x, y, color.RGBA{shade, shade, 0, 255})
				}
			}
		}
		return smaller(canvas)
	}
	for name, test := range map[string]struct {
		left    int
		shade   uint8
		differs bool
	}{
		"equal":         {30, 100, false},
		"rounded":       {30, 103, false},
		"a dot further": {31, 100, true},
		"darker":        {30, 90, true},
	} {
		if _, _, off := worstDot(draw(30, 100), draw(test.left, test.shade)); (off > mostShade) != test.differs {
			t.Errorf("%s: the pictures differ by %d, want more than %d: %v", name, off, mostShade, test.differs)
		}
	}
}
