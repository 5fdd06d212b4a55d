package reports

import (
	"image/color"
	"io"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The colours of all plots: those of Okabe and Ito, which people who see fewer colours can tell apart.
var (
	black      = color.NRGBA{A: 255}
	grey       = color.NRGBA{R: 110, G: 110, B: 110, A: 255}
	paleGrey   = color.NRGBA{R: 225, G: 225, B: 225, A: 255}
	blue       = color.NRGBA{R: 0, G: 114, B: 178, A: 255}
	skyBlue    = color.NRGBA{R: 86, G: 180, B: 233, A: 255}
	green      = color.NRGBA{R: 0, G: 158, B: 115, A: 255}
	orange     = color.NRGBA{R: 230, G: 159, B: 0, A: 255}
	vermillion = color.NRGBA{R: 213, G: 94, B: 0, A: 255}
	purple     = color.NRGBA{R: 204, G: 121, B: 167, A: 255}
)

// The measures of all plots.
const (
	figureWidth    = 720 * vg.Length(1)
	margin         = 10 * vg.Length(1)
	legendRow      = 15 * vg.Length(1)
	titleSize      = 13 * vg.Length(1)
	labelSize      = 10 * vg.Length(1)
	smallSize      = 9 * vg.Length(1)
	dotsPerInchPNG = 144
)

// Figure is a plot that is ready to be written, together with the data that it shows.
type Figure struct {
	plot    *plot.Plot
	height  vg.Length
	legend  []legendEntry
	caption string
	rows    [][]string // of the CSV, the names of the columns first
}

// legendEntry explains one kind of mark.
type legendEntry struct {
	label  string
	swatch func(c *draw.Canvas, area vg.Rectangle)
}

// WriteSVG writes the figure as SVG. Equal figures give equal bytes.
func (f *Figure) WriteSVG(w io.Writer) error {
	canvas := vgsvg.New(figureWidth, f.height)
	f.draw(draw.New(canvas))
	_, err := canvas.WriteTo(w)
	return err
}

// WritePNG writes the figure as PNG.
func (f *Figure) WritePNG(w io.Writer) error {
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(figureWidth, f.height), vgimg.UseDPI(dotsPerInchPNG))}
	f.draw(draw.New(canvas))
	_, err := canvas.WriteTo(w)
	return err
}

// WriteCSV writes the data behind the figure, the names of the columns first.
func (f *Figure) WriteCSV(w io.Writer) error { return writeTable(w, f.rows) }

// draw puts the plot on top and, below it, what its marks mean and what it does not show.
func (f *Figure) draw(c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	rows := f.legendRows(c.Max.X - c.Min.X)
	captionLines := wrapText(f.caption, style(smallSize), c.Max.X-c.Min.X)
	below := legendRow * vg.Length(len(rows)+len(captionLines))
	f.plot.Draw(draw.Crop(c, 0, 0, below, 0))
	y := c.Min.Y + below - legendRow
	for _, row := range rows {
		f.drawLegend(&c, row, y)
		y -= legendRow
	}
	caption := style(smallSize)
	caption.Color = grey
	for _, line := range captionLines {
		c.FillText(caption, vg.Point{X: c.Min.X, Y: y + 3}, line)
		y -= legendRow
	}
}

// extraHeight is what the legend and the caption take up.
func (f *Figure) extraHeight() vg.Length {
	width := figureWidth - 2*margin
	lines := len(f.legendRows(width)) + len(wrapText(f.caption, style(smallSize), width))
	return legendRow * vg.Length(lines)
}

const (
	swatchWidth = 18 * vg.Length(1)
	swatchGap   = 4 * vg.Length(1)
	entryGap    = 14 * vg.Length(1)
)

// legendRows breaks the legend into rows that fit.
func (f *Figure) legendRows(width vg.Length) [][]legendEntry {
	var rows [][]legendEntry
	used := width + 1
	for _, entry := range f.legend {
		need := swatchWidth + swatchGap + style(smallSize).Width(entry.label) + entryGap
		if used+need > width+entryGap {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], entry)
		used += need
	}
	return rows
}

func (f *Figure) drawLegend(c *draw.Canvas, row []legendEntry, y vg.Length) {
	x := c.Min.X
	for _, entry := range row {
		entry.swatch(c, vg.Rectangle{Min: vg.Point{X: x, Y: y + 2}, Max: vg.Point{X: x + swatchWidth, Y: y + 11}})
		x += swatchWidth + swatchGap
		c.FillText(style(smallSize), vg.Point{X: x, Y: y + 3}, entry.label)
		x += style(smallSize).Width(entry.label) + entryGap
	}
}

// style is the style of a line of text that starts where it is put.
func style(size vg.Length) text.Style {
	s := text.Style{Color: black, Font: plot.DefaultFont, Handler: plot.DefaultTextHandler}
	s.Font.Variant, s.Font.Size = "Sans", size
	return s
}

// newPlot starts a plot in the house's style.
func newPlot(title, xLabel string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.Title.Padding = title, 8
	p.X.Label.Text, p.X.Label.Padding = xLabel, 4
	p.Title.TextStyle.Font = style(titleSize).Font
	p.Title.TextStyle.Font.Weight = font.WeightBold
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = style(labelSize).Font
		axis.Tick.Label.Font = style(labelSize).Font
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = grey, grey
		axis.Tick.Length = 5
		axis.Padding = 0
	}
	return p
}

// fitTitle shortens a title that is wider than the figure.
func fitTitle(title string) string {
	s := style(titleSize)
	s.Font.Weight = font.WeightBold
	return fit(title, s, figureWidth-2*margin)
}

// fit shortens a text to a width.
func fit(line string, s text.Style, width vg.Length) string {
	line = printable(line)
	if s.Width(line) <= width {
		return line
	}
	runes := []rune(line)
	for len(runes) > 0 && s.Width(string(runes)+"...") > width {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimSpace(string(runes)) + "..."
}

// printable spells out what cannot be drawn or would end a line: names come from whoever wrote the history.
func printable(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// wrapText breaks a text into lines of a width.
func wrapText(paragraph string, s text.Style, width vg.Length) []string {
	var lines []string
	for _, word := range strings.Fields(printable(paragraph)) {
		word = fit(word, s, width)
		if n := len(lines); n > 0 && s.Width(lines[n-1]+" "+word) <= width {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

// fillRectangle fills an area, and outlines it if a line has a width.
func fillRectangle(c *draw.Canvas, area vg.Rectangle, fill color.Color, line draw.LineStyle) {
	if fill != nil {
		c.SetColor(fill)
		c.Fill(area.Path())
	}
	if line.Width > 0 {
		c.SetLineStyle(line)
		c.Stroke(area.Path())
	}
}

// hatch covers an area with slanted lines, so that it stands out without its colour too.
func hatch(c *draw.Canvas, area vg.Rectangle, line draw.LineStyle) {
	const gap = 5 * vg.Length(1)
	height := area.Max.Y - area.Min.Y
	// Lines stand at multiples of the gap wherever the area begins, so that neighbouring areas look like one.
	start := gap * vg.Length(int((area.Min.X-height)/gap))
	for x := start; x < area.Max.X; x += gap {
		from, to := vg.Point{X: x, Y: area.Min.Y}, vg.Point{X: x + height, Y: area.Max.Y}
		if cut := area.Min.X - from.X; cut > 0 {
			from = vg.Point{X: from.X + cut, Y: from.Y + cut}
		}
		if cut := to.X - area.Max.X; cut > 0 {
			to = vg.Point{X: to.X - cut, Y: to.Y - cut}
		}
		if from.X < to.X {
			c.StrokeLine2(line, from.X, from.Y, to.X, to.Y)
		}
	}
}

// curveStyle tells curves apart by colour and by dashes.
func curveStyle(i int) draw.LineStyle {
	colors := []color.NRGBA{blue, vermillion, green, purple, orange, skyBlue, black}
	dashes := [][]vg.Length{nil, {6, 2}, {2, 2}, {8, 2, 2, 2}}
	return draw.LineStyle{Color: colors[i%len(colors)], Width: 1.75, Dashes: dashes[i%len(dashes)]}
}

// grid draws pale lines at the labelled ticks.
type grid struct{}

// Plot implements plot.Plotter.
func (grid) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := draw.LineStyle{Color: paleGrey, Width: 0.5}
	for _, tick := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if tick.Label != "" {
			c.StrokeLine2(line, x(tick.Value), c.Min.Y, x(tick.Value), c.Max.Y)
		}
	}
	for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if tick.Label != "" {
			c.StrokeLine2(line, c.Min.X, y(tick.Value), c.Max.X, y(tick.Value))
		}
	}
}
