package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

const (
	devices  = 1000
	minutes  = 24 * 60
	batchOf  = 5000
	uploads  = 20
	upDays   = 30
	upEach   = upDays * minutes
	dayTotal = devices * minutes
	upTotal  = uploads * upEach
)

// sensor is the state of a device: random walks, similar to real sensors.
type sensor struct {
	name                      string
	rng                       *rand.Rand
	temperature, hum, battery int // temperature and humidity in tenths, battery in percent
}

func newSensor(i int, name string) *sensor {
	rng := rand.New(rand.NewPCG(uint64(i), 7))
	return &sensor{name: name, rng: rng, temperature: 150 + rng.IntN(100), hum: 300 + rng.IntN(300), battery: 60 + rng.IntN(40)}
}

func (s *sensor) advance() {
	s.temperature += s.rng.IntN(5) - 2
	s.hum += s.rng.IntN(5) - 2
	if s.rng.IntN(500) == 0 && s.battery > 1 {
		s.battery--
	}
}

func appendTenths(b []byte, v int) []byte {
	b = strconv.AppendInt(b, int64(v/10), 10)
	return append(b, '.', byte('0'+abs(v)%10))
}

func abs(v int) int {
	if v < 0 {
		return -v
	}
	return v
}

// form is a function that appends one reading to b, in one of the formats.
type form func(b []byte, s *sensor, ms int64) []byte

func ndjson(b []byte, s *sensor, ms int64) []byte {
	b = append(append(b, `{"device":"`...), s.name...)
	b = strconv.AppendInt(append(b, `","time":`...), ms, 10)
	b = appendTenths(append(b, `,"fields":{"temperature":`...), s.temperature)
	b = appendTenths(append(b, `,"humidity":`...), s.hum)
	b = strconv.AppendInt(append(b, `,"battery":`...), int64(s.battery), 10)
	return append(b, "}}\n"...)
}

func csv(b []byte, s *sensor, ms int64) []byte {
	b = strconv.AppendInt(append(append(b, s.name...), ','), ms, 10)
	b = appendTenths(append(b, ','), s.temperature)
	b = appendTenths(append(b, ','), s.hum)
	b = strconv.AppendInt(append(b, ','), int64(s.battery), 10)
	return append(b, '\n')
}

// line appends a line of InfluxDB's line protocol. The measurement is the stream.
func line(b []byte, s *sensor, ms int64) []byte {
	b = append(append(b, "bench,device="...), s.name...)
	b = appendTenths(append(b, " temperature="...), s.temperature)
	b = appendTenths(append(b, ",humidity="...), s.hum)
	b = strconv.AppendInt(append(b, ",battery="...), int64(s.battery), 10)
	b = strconv.AppendInt(append(b, ' '), ms, 10)
	return append(b, '\n')
}

const csvHeader = "device,time,temperature,humidity,battery\n"

// day returns the request bodies with the readings of all devices for a day, minute by minute.
func day(f form, header string, start time.Time) [][]byte { return fleetFor(minutes, f, header, start) }

// fleetFor returns the request bodies with the readings of all devices for a number of minutes.
func fleetFor(minutes int, f form, header string, start time.Time) [][]byte {
	fleet := make([]*sensor, devices)
	for i := range fleet {
		fleet[i] = newSensor(i, fmt.Sprintf("dev-%04d", i))
	}
	var bodies [][]byte
	var b []byte
	n := 0
	for m := range minutes {
		ms := start.Add(time.Duration(m) * time.Minute).UnixMilli()
		for i, s := range fleet {
			if n == 0 {
				b = append(make([]byte, 0, 600<<10), header...)
			}
			s.advance()
			b = f(b, s, ms+int64(i)) // each device reports at a different millisecond of the minute
			if n++; n == batchOf || m == minutes-1 && i == devices-1 {
				bodies, n = append(bodies, b), 0
			}
		}
	}
	return bodies
}

// backlog returns the request bodies of one device that uploads the readings of 30 days.
func backlog(f form, header string, i int, end time.Time) [][]byte {
	s := newSensor(i, fmt.Sprintf("late-%02d", i))
	var bodies [][]byte
	var b []byte
	n := 0
	start := end.Add(-upDays * 24 * time.Hour)
	for m := range upEach {
		if n == 0 {
			b = append(make([]byte, 0, 600<<10), header...)
		}
		s.advance()
		b = f(b, s, start.Add(time.Duration(m)*time.Minute).UnixMilli())
		if n++; n == batchOf || m == upEach-1 {
			bodies, n = append(bodies, b), 0
		}
	}
	return bodies
}
