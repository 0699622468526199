package wire

import (
	"strconv"

	"github.com/go-faster/jx"

	"github.com/varvedb/varve"
)

// VersionColumn is the name of the version in CSV and in flat JSON objects, where other names may be
// fields. No field can have this name.
const VersionColumn = "_version"

// parseVersion parses a version. Version 0 means the original reading.
func parseVersion(text []byte) (uint32, varve.Verdict) {
	n, err := strconv.ParseUint(string(text), 10, 31)
	if err != nil {
		return 0, varve.Reject(varve.CodeVersionInvalid, "version %s: not valid: send an integer from 1 to %d", clip(string(text)), varve.MaxVersion)
	}
	return uint32(n), varve.Verdict{}
}

// setVersion sets the version of a reading. The reading must have its id, because a version requires one.
func setVersion(r *varve.Reading, version uint32) varve.Verdict {
	switch {
	case version == 0:
		return varve.Verdict{}
	case r.ID.IsZero():
		return varve.Reject(varve.CodeVersionInvalid, "version %d: requires an id: send the id of the reading to correct, as queries return it", version)
	}
	r.ID = r.ID.WithVersion(version)
	return varve.Verdict{}
}

func (o *object) version(d *jx.Decoder, note func(varve.Verdict)) error {
	switch d.Next() {
	case jx.Number:
	case jx.Null:
		return d.Skip()
	default:
		note(varve.Reject(varve.CodeVersionInvalid, "the version is not a number"))
		return d.Skip()
	}
	n, err := d.Num()
	if err != nil {
		return err
	}
	version, v := parseVersion(n)
	if v.Outcome != 0 {
		note(v)
	}
	o.sentVersion = version
	return nil
}

// appendVersion appends a comma and the property "version". For an id without a version, it appends
// nothing.
func appendVersion(dst []byte, id varve.ID) []byte {
	if version := id.Version(); version > 0 {
		return strconv.AppendUint(append(dst, `,"version":`...), uint64(version), 10)
	}
	return dst
}

// appendVersionCell appends the cell of the version, which is empty for an original reading.
func appendVersionCell(dst []byte, id varve.ID) []byte {
	dst = append(dst, ',')
	if version := id.Version(); version > 0 {
		return strconv.AppendUint(dst, uint64(version), 10)
	}
	return dst
}
