package wire

// arrowEntry has no reader, because Arrow is a format of answers only. Package arrowstream writes these
// answers, so that package wire does not depend on the Arrow library.
var arrowEntry = entry{title: "Arrow", name: "arrow", media: []string{"application/vnd.apache.arrow.stream"}}
