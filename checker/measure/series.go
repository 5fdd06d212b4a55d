package measure

import "time"

// Series is a value over time in bounded memory. Up to MostPoints samples are kept as they are. Beyond that, neighbours
// are put together with their least and their greatest value, so that nothing that stood out is lost.
type Series struct {
	Points []Point
	each   int // samples that one point stands for
	last   int // samples in the last point
}

// Point is one sample, or several in a row.
type Point struct {
	From, To        time.Duration
	First, Last     int64
	Least, Greatest int64
}

// MostPoints bounds the points of a Series.
const MostPoints = 2048

// Add appends a sample. Time never goes back.
func (s *Series) Add(at time.Duration, value int64) {
	if s.each == 0 {
		s.each = 1
	}
	n := len(s.Points)
	if n > 0 && s.last < s.each {
		s.Points[n-1].extend(Point{at, at, value, value, value, value})
		s.last++
		return
	}
	if n == MostPoints {
		s.halve()
	}
	s.Points = append(s.Points, Point{at, at, value, value, value, value})
	s.last = 1
}

// halve puts each two neighbours together.
func (s *Series) halve() {
	for i := range MostPoints / 2 {
		s.Points[i] = s.Points[2*i]
		s.Points[i].extend(s.Points[2*i+1])
	}
	s.Points = s.Points[:MostPoints/2]
	s.each *= 2
	s.last = s.each
}

// Exact says that each point is one sample.
func (s *Series) Exact() bool { return s.each <= 1 }

// extend takes in what comes right after.
func (p *Point) extend(next Point) {
	p.To, p.Last = next.To, next.Last
	p.Least, p.Greatest = min(p.Least, next.Least), max(p.Greatest, next.Greatest)
}
