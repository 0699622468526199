// Package console serves Varve's console: pages in the browser, at /ui.
//
//	source ─▶ generate ─▶ assets          go generate, committed
//
//	browser ─▶ /ui/…            index.html, the same for every page
//	        ─▶ /ui/assets/HASH  modules and styles, which never change under one address
//	        ─▶ /v1/…            data, from the API that all clients use
//
// [Handler] serves the files. The console is JavaScript, embedded in the program. It has no cookie
// and no inline script, and it loads nothing from other hosts. It has no rights of its own: each
// request has the API key that the user entered. The session storage of the browser tab stores this
// key.
//
// The main modules in the folder source:
//
//   - app.js starts the console: layout, navigation, shortcuts, the prompt for a key.
//   - pages.js lists the pages, and pages/NAME.js is one page.
//   - router.js stores the state of a page in its address.
//   - api.js sends requests.
//   - parts.js has the components that pages share, and format.js formats numbers, sizes and times.
//   - lib has copies of pinned libraries, made by go generate.
//
// The package generate makes the folder assets from the modules: app.js with all modules, uplot.js,
// which charts load, theme.js and style.css. Run go generate ./console after each change, or go run
// -C console/generate . -offline without a network. Only the folder assets is in the program. A
// test fails if this folder is not current. Another one fails if all assets have [MaxBytes] or
// more.
//
// The handler is safe for concurrent use. It answers unknown pages with index.html, and passes
// unknown assets to the handler for missing paths.
//
// # How to add a page
//
// Create source/pages/NAME.js, which exports its component as default, and add its line to
// source/pages.js. A line has these properties:
//
//   - path: the address below /ui, in one word.
//   - name: the entry of the navigation.
//   - question: the question that the page answers, shown below its title.
//   - hotkey: the letter that opens the page, if a user types it after g.
//   - within: the path of another page, for a page that has no entry of its own in the navigation.
//   - allowed: reports whether a user with a grant may see the page. The page is hidden otherwise.
//     A grant is the answer of GET /v1/grant: the rights of the key.
//   - component: the default export of the module.
//
// The component gets the properties "grant" and "route". The property "route" is the parsed
// address: see router.js. The component follows these rules:
//
//   - All state that a user may want to send to a colleague is in the query of the address. Read it
//     with route.query, and change it with setQuery of router.js.
//   - Requests use useFetch or request of api.js. They end when the page is left.
//   - Colors, distances and fonts are variables of style.css. The content security policy forbids
//     style attributes in HTML, and allows the style property of a component.
//   - Each color has a text or a shape beside it, and each action works with the keyboard.
//   - Add the page to the table in tests/console/pages_test.go. The tests then check it for errors,
//     for violations of the policy and with axe, in both themes and at the width of a phone.
package console

//go:generate go run -C generate .
