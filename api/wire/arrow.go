package wire

// arrowEntry names the format. The package arrowstream writes it, so that this package does not depend
// on the Arrow library.
var arrowEntry = entry{title: "Arrow", name: "arrow", media: []string{"application/vnd.apache.arrow.stream"}}
